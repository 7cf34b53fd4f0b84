/** The words of states. Keys are the API's own; what is not here is shown as it came. */
export const words: Record<string, string> = {
  // health
  healthy: 'Healthy',
  progressing: 'Starting',
  degraded: 'Degraded',
  suspended: 'Out of service',
  unknown: 'Unknown',
  // incidents
  pending: 'Pending',
  firing: 'Firing',
  mitigated: 'Mitigated',
  resolved: 'Resolved',
  // runs, steps, attempts
  queued: 'Queued',
  running: 'Running',
  waiting: 'Waiting',
  awaitingApproval: 'Waiting for approval',
  verifying: 'Verifying',
  undoing: 'Undoing',
  undone: 'Undone',
  succeeded: 'Succeeded',
  failed: 'Failed',
  skipped: 'Skipped',
  cancelled: 'Cancelled',
  superseded: 'Superseded',
  refused: 'Refused',
  escalated: 'Escalated',
  inconclusive: 'Inconclusive',
  // undo records
  intended: 'Intended',
  applied: 'Applied',
  withheld: 'Withheld',
  foreign: 'Changed by someone else',
  // drills and verdicts
  passed: 'Passed',
  aborted: 'Aborted',
  armed: 'Armed',
  injecting: 'Injecting',
  injected: 'Injected',
  recovering: 'Recovering',
  recovered: 'Recovered',
  stuck: 'Stuck',
  // guards and decisions
  allow: 'Allowed',
  deny: 'Denied',
  allowed: 'Allowed',
  denied: 'Denied',
  // sources
  fresh: 'Fresh',
  stale: 'Stale',
  lost: 'Lost',
  // modes
  observe: 'Observe only',
  dryRun: 'Dry run',
  approve: 'Ask first',
  auto: 'Automatic',
};
