/**
 * Which operations make sense for a run as it is shown. The API judges again, and says why when it refuses:
 * this only keeps buttons away that cannot do anything.
 */
import type { Operation } from '@/api/runOperations';
import type { RunDetail } from '@/api/types';

const startsSteps = new Set(['queued', 'running']);
const retriable = new Set(['failed', 'inconclusive', 'cancelled']);
const stands = new Set(['kept', 'withheld', 'failed']);

export function offered({ run, undo, approvals }: RunDetail): Operation[] {
  const ended = run.endedAt !== null;
  const drill = run.kind === 'drill';
  const found: [Operation, boolean][] = [
    ['approve', approvals.some((each) => each.decision === null)],
    ['reject', approvals.some((each) => each.decision === null)],
    ['continue', !ended && run.paused !== null],
    ['pause', !ended && !drill && run.paused === null && run.stop === null && startsSteps.has(run.state)],
    ['cancel', !ended && run.stop !== 'cancel'],
    ['retry', ended && !drill && run.undoOf === null && retriable.has(run.state)],
    ['undo', ended && !drill && run.undoOf === null && undo.some((each) => stands.has(each.status))],
  ];
  return found.filter(([, makesSense]) => makesSense).map(([operation]) => operation);
}
