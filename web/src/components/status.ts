/**
 * Which tone and which icon a state has. One table for all states of the product, so that a word looks the
 * same on every page. A state that is not listed is `idle` with a question mark: shown, never hidden.
 */
import {
  IconAlertTriangle,
  IconArrowBackUp,
  IconBan,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconClock,
  IconFlame,
  IconHandStop,
  IconHelpCircle,
  IconLoader2,
  IconPlayerPause,
  IconShieldCheck,
  IconUserQuestion,
  type TablerIcon,
} from '@tabler/icons-react';
import type { Tone } from '@/theme';

export type Look = { tone: Tone; icon: TablerIcon };

const group = (tone: Tone, icon: TablerIcon, ...names: string[]) =>
  names.map((name) => [name, { tone, icon }] as const);

const looks = new Map<string, Look>([
  ...group(
    'ok',
    IconCircleCheck,
    'healthy',
    'succeeded',
    'passed',
    'allow',
    'allowed',
    'fresh',
    'ok',
    'done',
    'run',
  ),
  ...group('ok', IconCircleCheck, 'resolved', 'recovered', 'acted', 'auto', 'verifiedClear', 'clear'),
  ...group('ok', IconShieldCheck, 'mitigated'),
  ...group(
    'busy',
    IconLoader2,
    'progressing',
    'running',
    'verifying',
    'recovering',
    'injecting',
    'again',
    'leased',
  ),
  ...group(
    'busy',
    IconClock,
    'queued',
    'pending',
    'waiting',
    'wait',
    'planned',
    'armed',
    'approve',
    'intended',
  ),
  ...group('warn', IconUserQuestion, 'awaitingApproval', 'waitingApproval'),
  ...group(
    'warn',
    IconAlertTriangle,
    'degraded',
    'stale',
    'inconclusive',
    'escalated',
    'withheld',
    'ambiguous',
    'foreign',
  ),
  ...group('bad', IconFlame, 'firing'),
  ...group('bad', IconCircleX, 'failed', 'lost', 'error', 'timeout', 'permanent', 'stuck'),
  ...group('bad', IconBan, 'deny', 'denied', 'refuse', 'refused', 'blocked'),
  ...group('drill', IconFlame, 'injected', 'verified', 'drilling'),
  ...group('idle', IconArrowBackUp, 'undone', 'undoing', 'kept'),
  ...group('idle', IconPlayerPause, 'suspended', 'paused', 'observe', 'observed', 'dryRun'),
  ...group(
    'idle',
    IconCircleDashed,
    'skipped',
    'superseded',
    'notMatched',
    'none',
    'pending',
    'applied',
    'aborted',
  ),
  ...group('idle', IconHandStop, 'cancelled', 'cancelling', 'halted', 'stopped', 'stopping'),
]);

const unlisted: Look = { tone: 'idle', icon: IconHelpCircle };

export const lookOf = (state: string): Look => looks.get(state) ?? unlisted;

export const isListed = (state: string) => looks.has(state);
