import { Group } from '@mantine/core';
import type { DrillReport } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { Duration } from '@/components/Duration';
import { Panel } from '@/components/Panel';
import { Values } from '@/components/Values';
import { ZoneTag } from '@/components/ZoneTag';
import { NONE } from '@/lib/format';
import { t } from '@/texts';
import classes from './Report.module.css';

const words = t.drills.report;

const columns: Column<DrillReport['faults'][number]>[] = [
  {
    key: 'name',
    title: t.runs.faults.kind,
    cell: (row) => (
      <>
        {row.name} <span className="mono">{row.kind}</span>
        {row.detail && <div className={classes.dim}>{row.detail}</div>}
      </>
    ),
  },
  {
    key: 'targets',
    title: t.runs.faults.targets,
    cell: (row) => (
      <Group gap={4}>
        {row.targets.map((target) => (
          <ZoneTag key={target} target={target} />
        ))}
      </Group>
    ),
  },
  { key: 'parameters', title: t.runs.inputs, cell: (row) => <Values values={row.parameters} />, wide: true },
  {
    key: 'stood',
    title: words.stood,
    cell: (row) => (row.injectedAt ? <Duration from={row.injectedAt} to={row.clearedAt} /> : NONE),
    numeric: true,
  },
];

/** What was broken on purpose, where, and for how long it stood. */
export function ReportFaults({ faults }: { faults: DrillReport['faults'] }) {
  return (
    <Panel title={words.faults} flush>
      <DataTable label={words.faults} columns={columns} rows={faults} rowKey={(row) => row.id} />
    </Panel>
  );
}
