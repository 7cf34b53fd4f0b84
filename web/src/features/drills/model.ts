/** What a drill's report shows, derived from its JSON. Pure. */
import type { DrillReport, ProbeReport } from '@/api/types';
import { secondsBetween } from '@/lib/time';
import { t } from '@/texts';

export type Moment = {
  key: 'injected' | 'detected' | 'mitigated' | 'recovered';
  at: string | null;
  /** Seconds after the injection; null for the injection itself and for what never came. */
  after: number | null;
  /** True when it came later than allowed, or never, where it had to. */
  late: boolean;
};

/** The four moments of a drill, each measured from the injection. */
export function moments(report: DrillReport): Moment[] {
  const { injectedAt, recoveryWithin } = report;
  const since = (at: string | null) => (injectedAt && at ? secondsBetween(injectedAt, at) : null);
  const mitigated = since(report.mitigatedAt);
  const mitigatedLate =
    recoveryWithin !== null && injectedAt !== null && (mitigated === null || mitigated > recoveryWithin);
  return [
    { key: 'injected', at: injectedAt, after: null, late: false },
    { key: 'detected', at: report.detectedAt, after: since(report.detectedAt), late: false },
    { key: 'mitigated', at: report.mitigatedAt, after: mitigated, late: mitigatedLate },
    { key: 'recovered', at: report.recoveredAt, after: since(report.recoveredAt), late: false },
  ];
}

export const phases = ['before', 'during', 'after'] as const;

export type ProbeRow = {
  name: string;
  tolerance: string;
  cells: Record<(typeof phases)[number], ProbeReport | null>;
};

/** One row per probe, one cell per phase; null where the probe was not asked in that phase. */
export function probeRows(probes: readonly ProbeReport[]): ProbeRow[] {
  const names = [...new Set(probes.map((probe) => probe.name))];
  return names.map((name) => {
    const mine = probes.filter((probe) => probe.name === name);
    const of = (phase: (typeof phases)[number]) => mine.find((probe) => probe.phase === phase) ?? null;
    return {
      name,
      tolerance: mine[0]?.tolerance ?? '',
      cells: { before: of('before'), during: of('during'), after: of('after') },
    };
  });
}

export const probeState = (probe: ProbeReport) =>
  probe.good === null ? 'inconclusive' : probe.good ? 'passed' : 'failed';

export const probeWord = (probe: ProbeReport) =>
  probe.good === null
    ? t.drills.report.probeNone
    : probe.good
      ? t.drills.report.probeGood
      : t.drills.report.probeBad;
