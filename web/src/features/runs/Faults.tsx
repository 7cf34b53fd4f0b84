import { Group } from '@mantine/core';
import type { Fault } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { EmptyState } from '@/components/EmptyState';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { Values } from '@/components/Values';
import { ZoneTag } from '@/components/ZoneTag';
import { t } from '@/texts';

const words = t.runs.faults;

const columns: Column<Fault>[] = [
  { key: 'state', title: words.state, cell: (row) => <StatusBadge state={row.state} /> },
  {
    key: 'kind',
    title: words.kind,
    cell: (row) => (
      <>
        <span className="mono">{row.kind}</span>
        {Object.keys(row.parameters).length > 0 && <Values values={row.parameters} />}
      </>
    ),
  },
  {
    key: 'targets',
    title: words.targets,
    cell: (row) => (
      <Group gap={4}>
        {row.targets.map((target) => (
          <ZoneTag key={target} target={target} />
        ))}
      </Group>
    ),
  },
  { key: 'injected', title: words.injected, cell: (row) => <TimeAgo at={row.injectedAt} />, wide: true },
  { key: 'cleared', title: words.cleared, cell: (row) => <TimeAgo at={row.clearedAt} />, wide: true },
  { key: 'expires', title: words.expires, cell: (row) => <TimeAgo at={row.expiresAt} />, wide: true },
];

/** The drill's ledger of faults: what was broken, and whether it was seen to be whole again. */
export function Faults({ faults }: { faults: readonly Fault[] }) {
  if (faults.length === 0) return <EmptyState title={words.none} />;
  return (
    <Panel flush>
      <DataTable label={t.runs.tabs.faults} columns={columns} rows={faults} rowKey={(row) => row.id} />
    </Panel>
  );
}
