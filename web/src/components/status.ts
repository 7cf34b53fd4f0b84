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
  type TablerIcon,
} from '@tabler/icons-react';
import type { Tone } from '@/theme';

export type Look = { tone: Tone; icon: TablerIcon };

const group = (tone: Tone, icon: TablerIcon, ...names: string[]) =>
  names.map((name) => [name, { tone, icon }] as const);

const looks = new Map<string, Look>([
  ...group('ok', IconCircleCheck, 'healthy', 'succeeded', 'passed', 'allow', 'fresh', 'done', 'run'),
  ...group('ok', IconCircleCheck, 'resolved', 'recovered', 'verifiedClear', 'auto', 'good', 'exact'),
  ...group('ok', IconShieldCheck, 'mitigated'),
  ...group('busy', IconLoader2, 'progressing', 'running', 'verifying', 'recovering', 'injecting', 'again'),
  ...group('busy', IconClock, 'queued', 'waiting', 'wait', 'armed', 'approve'),
  ...group(
    'warn',
    IconAlertTriangle,
    'degraded',
    'stale',
    'inconclusive',
    'withheld',
    'foreign',
    'interrupted',
    'bounded',
  ),
  ...group('bad', IconFlame, 'firing'),
  ...group('bad', IconCircleX, 'failed', 'lost', 'stuck', 'bad'),
  ...group('bad', IconBan, 'refuse', 'refused'),
  ...group('drill', IconFlame, 'injected', 'verified'),
  ...group('idle', IconArrowBackUp, 'undone', 'undoing', 'kept'),
  ...group('idle', IconPlayerPause, 'suspended', 'observe', 'observed', 'dryRun'),
  ...group('idle', IconCircleDashed, 'skipped', 'superseded', 'notMatched', 'pending', 'planned', 'aborted'),
  ...group('idle', IconCircleDashed, 'quiet', 'unavailable'),
  ...group('idle', IconHandStop, 'cancelled'),
  ...group('idle', IconHelpCircle, 'unknown'),
]);

const unlisted: Look = { tone: 'idle', icon: IconHelpCircle };

export const lookOf = (state: string): Look => looks.get(state) ?? unlisted;

export const isListed = (state: string) => looks.has(state);
