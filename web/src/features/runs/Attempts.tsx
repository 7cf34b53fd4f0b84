import type { Attempt } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { t } from '@/texts';

const words = t.runs.attempts;

const columns: Column<Attempt>[] = [
  { key: 'outcome', title: words.outcome, cell: (row) => <StatusBadge state={row.outcome} /> },
  { key: 'attempt', title: words.attempt, cell: (row) => `${row.step} #${row.attempt}` },
  { key: 'calls', title: words.calls, cell: (row) => row.calls, numeric: true, wide: true },
  { key: 'fence', title: words.fence, cell: (row) => row.fence, numeric: true, wide: true },
  { key: 'key', title: words.key, cell: (row) => <span className="mono">{row.key}</span>, wide: true },
  {
    key: 'took',
    title: words.took,
    cell: (row) => <Duration from={row.startedAt} to={row.endedAt} />,
    numeric: true,
  },
  { key: 'message', title: words.message, cell: (row) => row.message },
];

/** Each attempt at a step, as it was written down before it was made. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  if (attempts.length === 0) return <EmptyState title={words.none} />;
  return (
    <Panel flush>
      <DataTable
        label={t.runs.tabs.attempts}
        columns={columns}
        rows={attempts}
        rowKey={(row) => `${row.step}#${row.attempt}`}
      />
    </Panel>
  );
}
