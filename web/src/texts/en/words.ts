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
  verifying: 'Verifying',
  undoing: 'Undoing',
  undone: 'Undone',
  succeeded: 'Succeeded',
  failed: 'Failed',
  skipped: 'Skipped',
  cancelled: 'Cancelled',
  superseded: 'Superseded',
  refused: 'Refused',
  inconclusive: 'Inconclusive',
  // undo records
  foreign: 'Changed by someone else',
  withheld: 'Withheld',
  kept: 'Kept',
  // drills and verdicts
  passed: 'Passed',
  aborted: 'Aborted',
  armed: 'Armed',
  injecting: 'Injecting',
  injected: 'Injected',
  recovering: 'Recovering',
  recovered: 'Recovered',
  verified: 'In effect',
  verifiedClear: 'Seen clear',
  stuck: 'Stuck',
  // guards
  allow: 'Allowed',
  refuse: 'Refused',
  wait: 'Wait',
  // decisions
  run: 'Run started',
  observed: 'Observed only',
  notMatched: 'Did not match',
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
