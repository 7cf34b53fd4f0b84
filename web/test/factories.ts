/** Whole records, with what a test cares about set by it. */
import type {
  Approval,
  Decision,
  DrillReport,
  DrillSummary,
  Halt,
  Incident,
  IncidentDetail,
  Matrix,
  ObjectiveStatus,
  Overview,
  Run,
  RunDetail,
  RunSummary,
  StepRecord,
  ZoneCell,
} from '@/api/types';

export const NOW = '2026-11-30T12:00:00Z';

export const ago = (seconds: number) => new Date(Date.parse(NOW) - seconds * 1000).toISOString();

export const noReadings = {
  etpm: null,
  tokensPerSecond: null,
  successRate: null,
  ttftP95: null,
  tpotP95: null,
  running: null,
  queue: null,
  kvUse: null,
};

export const aZone = (name: string, set: Partial<ZoneCell> = {}): ZoneCell => ({
  name,
  target: `chat/local/${name}`,
  weight: 100,
  share: 0.5,
  health: 'healthy',
  reason: null,
  holder: null,
  readings: { ...noReadings, etpm: 29_480, ttftP95: 0.418, kvUse: 0.63 },
  nodes: [
    {
      name: `node-${name.at(-1)}1`,
      target: `chat/local/${name}/node-${name.at(-1)}1`,
      ready: true,
      schedulable: true,
      health: 'healthy',
      reason: null,
      replicas: [
        {
          name: `replica-${name.at(-1)}1-0`,
          target: `chat/local/${name}/node-${name.at(-1)}1/replica-${name.at(-1)}1-0`,
          uid: 'uid-1',
          health: 'healthy',
          reason: null,
          canary: true,
          readings: { ...noReadings, running: 6, queue: 0, kvUse: 0.58 },
        },
      ],
    },
  ],
  ...set,
});

export const aRunSummary = (set: Partial<RunSummary> = {}): RunSummary => ({
  id: 'run-1',
  kind: 'playbook',
  name: 'zone-failover',
  service: 'chat',
  target: 'chat/local/zone-b',
  signal: 'slo:chat-tpot@chat/local/zone-b',
  incident: 'inc-1',
  trigger: 'slo',
  startedBy: 'controller',
  state: 'verifying',
  reason: '',
  waiting: '',
  paused: null,
  retryOf: null,
  undoOf: null,
  cause: null,
  createdAt: ago(90),
  startedAt: ago(90),
  endedAt: null,
  ...set,
});

export const anIncident = (set: Partial<Incident> = {}): Incident => ({
  id: 'inc-1',
  signal: 'slo:chat-tpot@chat/local/zone-b',
  service: 'chat',
  target: 'chat/local/zone-b',
  state: 'firing',
  severity: 'page',
  tier: 'fast',
  title: 'TPOT of zone-b over 50 ms',
  parent: null,
  openedAt: ago(100),
  firedAt: ago(96),
  mitigatedAt: null,
  resolvedAt: null,
  calmSince: null,
  changedAt: ago(96),
  value: 0.0694,
  objective: 0.05,
  detail: '',
  ...set,
});

export const aHalt = (set: Partial<Halt> = {}): Halt => ({
  id: 'halt-1',
  service: 'chat',
  zone: 'zone-c',
  target: null,
  reason: 'Switch replacement',
  by: 'admin',
  createdAt: ago(240),
  expiresAt: ago(-3600),
  liftedAt: null,
  ...set,
});

export const anOverview = (set: Partial<Overview> = {}): Overview => ({
  environment: 'lab',
  version: '0.1.0',
  mode: 'auto',
  service: 'chat',
  cluster: 'local',
  tickAt: NOW,
  evaluatedAt: NOW,
  headline: {
    etpm: 57_840,
    etpmEstimate: 58_300,
    tokensPerSecond: 981,
    successRate: 0.9987,
    ttftP95: 0.412,
    tpotP95: 0.0312,
  },
  zones: [aZone('zone-a'), aZone('zone-b')],
  history: [],
  sources: [{ name: 'prometheus', state: 'fresh', lastAt: NOW, detail: null }],
  openIncidents: [],
  activeRuns: [],
  activeDrill: null,
  approvals: [],
  drills: [],
  halts: [],
  outOfService: [],
  problems: [],
  ...set,
});

export const aDecision = (set: Partial<Decision> = {}): Decision => ({
  id: 'dec-1',
  at: ago(92),
  lastAt: ago(92),
  count: 1,
  playbook: 'zone-failover',
  trigger: 'slo chat-tpot fast by zone',
  signal: 'slo:chat-tpot@chat/local/zone-b',
  incident: 'inc-1',
  target: 'chat/local/zone-b',
  outcome: 'run',
  run: 'run-1',
  values: { tpotP95: 0.0694 },
  guards: [
    { guard: 'mode', verdict: 'allow', message: 'auto', values: { mode: 'auto' } },
    { guard: 'capacity', verdict: 'allow', message: 'the rest carries it', values: { ratio: 1.21 } },
  ],
  ...set,
});

export const anIncidentDetail = (set: Partial<IncidentDetail> = {}): IncidentDetail => ({
  incident: anIncident(),
  timeline: [
    { at: ago(100), kind: 'state', state: 'pending', title: 'Out of its objective', detail: '', ref: null },
    { at: ago(92), kind: 'decision', state: 'run', title: 'zone-failover: run', detail: '', ref: 'dec-1' },
    { at: ago(90), kind: 'run', state: 'running', title: 'zone-failover started', detail: '', ref: 'run-1' },
  ],
  decisions: [aDecision()],
  runs: [aRunSummary()],
  children: [],
  ...set,
});

export const aStep = (set: Partial<StepRecord> = {}): StepRecord => ({
  run: 'run-1',
  id: 'shift',
  position: 0,
  itemIndex: null,
  item: null,
  uses: 'traffic.shift',
  state: 'succeeded',
  attempt: 1,
  parameters: {},
  blockedAt: null,
  resumeState: {},
  outputs: { to: 0 },
  error: '',
  dueAt: null,
  startedAt: ago(88),
  endedAt: ago(82),
  ...set,
});

export const aRun = (set: Partial<Run> = {}): Run => ({
  ...aRunSummary(),
  inputs: { ramp: 5 },
  scope: {},
  pins: { Playbook: '9f2c6e1ab0d49f2c' },
  group: 'service/chat',
  fence: 3,
  leaseOwner: 'worker-1',
  leaseUntil: null,
  dueAt: null,
  effectAt: null,
  result: {},
  stop: null,
  stopReason: '',
  ...set,
});

export const aRunDetail = (set: Partial<RunDetail> = {}): RunDetail => ({
  run: aRun(),
  steps: [aStep()],
  attempts: [],
  journal: [
    { id: 1, run: 'run-1', step: 'shift', at: ago(88), event: 'step.running', message: 'began', data: {} },
    {
      id: 2,
      run: 'run-1',
      step: 'shift',
      at: ago(82),
      event: 'step.succeeded',
      message: 'weight is 0',
      data: {},
    },
  ],
  undo: [
    {
      run: 'run-1',
      step: 'shift',
      target: 'chat/local/zone-b',
      field: 'weight',
      before: 100,
      intended: 0,
      applied: 0,
      status: 'pending',
      detail: '',
      at: ago(82),
    },
  ],
  decision: aDecision(),
  incident: anIncident(),
  faults: [],
  outOfService: [],
  approvals: [],
  ...set,
});

export const anApproval = (set: Partial<Approval> = {}): Approval => ({
  id: 'appr-1',
  run: 'run-1',
  step: null,
  text: 'Take zone-b out of traffic?',
  roles: ['approver', 'admin'],
  preview: {
    steps: [
      {
        id: 'shift',
        uses: 'traffic.shift',
        outlook: 'runs',
        why: '',
        changes: [{ target: 'chat/local/zone-b', field: 'weight', before: 100, after: 0 }],
      },
    ],
    blastRadius: { verdict: 'allow', message: '1 of 3 zones out', values: { zonesAfter: 1 } },
  },
  requestedAt: ago(20),
  expiresAt: ago(-280),
  onTimeout: 'deny',
  decision: null,
  decidedAt: null,
  decidedBy: '',
  comment: '',
  ...set,
});

export const aDrill = (set: Partial<DrillSummary> = {}): DrillSummary => ({
  ...aRunSummary({ id: 'run-d', kind: 'drill', name: 'zone-outage', state: 'succeeded', endedAt: ago(10) }),
  verdict: 'passed',
  targets: ['chat/local/zone-c'],
  ...set,
});

export const aReport = (set: Partial<DrillReport> = {}): DrillReport => ({
  run: 'run-d',
  drill: 'zone-outage',
  purpose: 'Users keep their tokens when a zone goes',
  service: 'chat',
  environment: 'lab',
  verdict: 'passed',
  reasons: ['mitigated 21.4 s after the injection, 60 s allowed'],
  hypothesis: 'Losing one zone costs less than a tenth of the tokens.',
  startedAt: ago(300),
  endedAt: ago(110),
  injectedAt: ago(260),
  detectedAt: ago(252),
  mitigatedAt: ago(239),
  recoveredAt: ago(164),
  recoveryWithin: 60,
  recoveryTiers: [],
  refused: {},
  playbookExpected: 'zone-failover',
  playbook: 'zone-failover',
  playbookRun: 'run-1',
  exercise: null,
  tokens: { kept: 0.942, effective: 113_040, expected: 120_000, within: 120, baseline: 'plannedArrivals' },
  probes: [
    {
      name: 'effective share',
      phase: 'before',
      good: true,
      value: 0.991,
      tolerance: 'at least 95 %',
      samples: 148,
      worst: null,
      detail: '',
    },
  ],
  faults: [
    {
      id: 'fault-1',
      name: 'outage',
      kind: 'zone.outage',
      targets: ['chat/local/zone-c'],
      parameters: {},
      injectedAt: ago(260),
      clearedAt: ago(200),
      detail: '',
    },
  ],
  deviations: [],
  leftovers: [],
  yield: [],
  ...set,
});

export const anObjective = (set: Partial<ObjectiveStatus> = {}): ObjectiveStatus => ({
  name: 'chat-success',
  service: 'chat',
  indicator: 'success',
  target: 0.999,
  window: '30d',
  windowStart: ago(30 * 86_400),
  counts: 'occurrences',
  state: 'bad',
  value: 0.99925,
  good: 99_925,
  total: 100_000,
  observed: 0.6,
  minEvents: 10,
  budgetLeft: 0.125,
  burnRate: 7.2,
  timeToExhaustion: 90_000,
  tiers: [
    {
      name: 'page-1h',
      severity: 'page',
      factor: 14.4,
      long: 3600,
      short: 300,
      burnLong: 20.4,
      burnShort: null,
      leastLong: 18.6,
      leastShort: 0,
      events: 900,
      fires: false,
      says: 'the short window is under its factor',
    },
  ],
  places: [
    {
      target: 'chat/local/zone-b',
      state: 'bad',
      value: 0.9,
      samples: 50,
      firing: ['fast'],
      detail: 'threshold snapped to 1 s',
    },
  ],
  ...set,
});

/** What `GET /slos` answers: each service with its objectives. */
export const objectives = (...items: ObjectiveStatus[]) => ({
  items: items.length === 0 ? [] : [{ at: NOW, evaluatedAt: NOW, objectives: items }],
});

const graded = {
  family: 5,
  unit: 's',
  better: 'lower',
  bound: null,
  why: '',
  series: ['vllm:request_time_per_output_token_seconds'],
  reason: '',
  notes: [],
  needs: [],
  reads: '',
  with: null,
} as const;

export const aMatrix = (): Matrix => ({
  indicators: [
    {
      name: 'tpot',
      family: 5,
      title: 'Time per output token',
      unit: 's',
      better: 'lower',
      meaning: 'time per output token after the first',
      formula: 'share of requests at most at the threshold',
    },
  ],
  engines: [
    {
      name: 'vllm',
      title: 'vLLM',
      generations: [
        {
          name: '0.6',
          indicators: [
            {
              ...graded,
              series: ['vllm:time_per_output_token_seconds'],
              notes: [],
              needs: [],
              indicator: 'tpot',
              grade: 'bounded',
              bound: 'estimate',
              why: 'gaps between output events',
            },
          ],
        },
        {
          name: '0.20',
          indicators: [
            {
              ...graded,
              series: [...graded.series],
              notes: [],
              needs: [],
              indicator: 'tpot',
              grade: 'exact',
            },
          ],
        },
      ],
    },
    {
      name: 'tgi',
      title: 'TGI',
      generations: [
        {
          name: '3',
          indicators: [
            {
              ...graded,
              series: [],
              notes: [],
              needs: ['a gateway'],
              indicator: 'tpot',
              grade: 'unavailable',
              reason: 'the engine does not count it',
              with: { grade: 'exact', bound: null, sources: ['envoy'], series: [] },
            },
          ],
        },
      ],
    },
  ],
});
