import type { ProbeReport } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { type ProbeRow, phases, probeRows, probeState, probeWord } from '@/features/drills/model';
import { inline, NONE } from '@/lib/format';
import { t } from '@/texts';
import classes from './Report.module.css';

const words = t.drills.report;

const columns: Column<ProbeRow>[] = [
  {
    key: 'probe',
    title: words.probe,
    cell: (row) => (
      <>
        <div>{row.name}</div>
        <div className={classes.dim}>{row.tolerance}</div>
      </>
    ),
  },
  ...phases.map((phase) => ({
    key: phase,
    title: words.phases[phase],
    cell: (row: ProbeRow) => <Cell probe={row.cells[phase]} />,
  })),
];

/** Each probe of the hypothesis before, during and after the fault. */
export function Probes({ probes }: { probes: readonly ProbeReport[] }) {
  return (
    <Panel title={words.probes} flush>
      {probes.length === 0 ? (
        <p className={classes.empty}>{words.noProbes}</p>
      ) : (
        <DataTable
          label={words.probes}
          columns={columns}
          rows={probeRows(probes)}
          rowKey={(row) => row.name}
        />
      )}
    </Panel>
  );
}

function Cell({ probe }: { probe: ProbeReport | null }) {
  if (probe === null) return NONE;
  return (
    <>
      <StatusBadge state={probeState(probe)} label={probeWord(probe)} />
      <div className={classes.dim}>
        {inline(probe.value)}
        {probe.samples > 0 && `, ${words.samples(probe.samples)}`}
      </div>
      {probe.detail && <div className={classes.dim}>{probe.detail}</div>}
    </>
  );
}
