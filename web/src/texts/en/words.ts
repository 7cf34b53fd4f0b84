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
  succeeded: 'Succeeded',
  failed: 'Failed',
  skipped: 'Skipped',
  cancelled: 'Cancelled',
  superseded: 'Superseded',
  inconclusive: 'Inconclusive',
  done: 'Done',
  again: 'To be called again',
  interrupted: 'Interrupted',
  // undo records
  undone: 'Undone',
  foreign: 'Changed by someone else',
  withheld: 'Withheld',
  kept: 'Kept',
  // drills, faults, verdicts
  passed: 'Passed',
  aborted: 'Aborted',
  planned: 'Planned',
  armed: 'Armed',
  injecting: 'Injecting',
  injected: 'Injected',
  verified: 'In effect',
  recovering: 'Recovering',
  recovered: 'Recovered',
  verifiedClear: 'Seen clear',
  stuck: 'Stuck',
  // guards
  allow: 'Allowed',
  refuse: 'Refused',
  wait: 'Wait',
  // decisions
  run: 'Run started',
  refused: 'Refused',
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
