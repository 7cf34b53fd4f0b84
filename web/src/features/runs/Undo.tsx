import type { UndoView } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { EmptyState } from '@/components/EmptyState';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { inline } from '@/lib/format';
import { t } from '@/texts';
import classes from './Runs.module.css';

const words = t.runs.undo;
const value = (of: unknown) => <span className="mono">{inline(of)}</span>;

const columns: Column<UndoView>[] = [
  { key: 'step', title: words.step, cell: (row) => row.step },
  { key: 'target', title: words.target, cell: (row) => <ZoneTag target={row.target} /> },
  { key: 'field', title: words.field, cell: (row) => <span className="mono">{row.field}</span> },
  { key: 'before', title: words.before, cell: (row) => value(row.before), numeric: true },
  { key: 'intended', title: words.intended, cell: (row) => value(row.intended), numeric: true },
  { key: 'applied', title: words.applied, cell: (row) => value(row.applied), numeric: true },
  {
    key: 'status',
    title: words.status,
    cell: (row) => (
      <>
        <StatusBadge state={row.status} />
        {row.detail && <div className={classes.dim}>{row.detail}</div>}
      </>
    ),
  },
  { key: 'at', title: words.at, cell: (row) => <TimeAgo at={row.at} />, wide: true },
];

/** What stood there before, what was meant, and what was written: what taking it back goes by. */
export function Undo({ records }: { records: readonly UndoView[] }) {
  if (records.length === 0) return <EmptyState title={words.none} text={words.noneText} />;
  return (
    <Panel flush>
      <DataTable
        label={t.runs.tabs.undo}
        columns={columns}
        rows={records}
        rowKey={(row) => `${row.step}/${row.target}/${row.field}`}
      />
    </Panel>
  );
}
