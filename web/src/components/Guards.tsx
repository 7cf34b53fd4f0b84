import type { GuardVerdict } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { StatusBadge } from '@/components/StatusBadge';
import { Values } from '@/components/Values';
import { t } from '@/texts';

const words = t.runs.guards;

const columns: Column<GuardVerdict>[] = [
  { key: 'verdict', title: words.verdict, cell: (row) => <StatusBadge state={row.verdict} /> },
  { key: 'guard', title: words.guard, cell: (row) => <span className="mono">{row.guard}</span> },
  { key: 'message', title: words.message, cell: (row) => row.message },
  { key: 'values', title: words.values, cell: (row) => <Values values={row.values} /> },
];

/** What each guard said, in the order they were asked, and the values it said it on. */
export function Guards({ guards }: { guards: readonly GuardVerdict[] }) {
  if (guards.length === 0) return <p>{words.none}</p>;
  return <DataTable label={words.title} columns={columns} rows={guards} rowKey={(row) => row.guard} />;
}
