import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { slosQuery } from '@/api/slos';
import type { ObjectiveStatus } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { EmptyState } from '@/components/EmptyState';
import { FilterTabs } from '@/components/FilterTabs';
import { Meter } from '@/components/Meter';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { budgetTone, firing, objective, spentIn, worstFirst } from '@/features/slos/model';
import { NONE, percent, times } from '@/lib/format';
import { useUrlChoice } from '@/lib/useUrlState';
import { t } from '@/texts';

const words = t.slos;
const filters = ['all', 'bad', 'unknown', 'good'] as const;

const columns: Column<ObjectiveStatus>[] = [
  { key: 'state', title: words.columns.state, cell: (row) => <StatusBadge state={row.state} /> },
  {
    key: 'name',
    title: words.columns.name,
    cell: (row) => <Link to={`/slos/${encodeURIComponent(row.name)}`}>{row.name}</Link>,
  },
  {
    key: 'objective',
    title: words.columns.objective,
    cell: (row) => words.over(objective(row.target), row.window),
    wide: true,
  },
  { key: 'value', title: words.columns.value, cell: (row) => percent(row.value), numeric: true, wide: true },
  {
    key: 'budget',
    title: words.columns.budget,
    cell: (row) => (
      <Meter
        value={row.budgetLeft}
        label={words.budgetOf(row.name)}
        text={row.budgetLeft === null ? words.unknown : percent(row.budgetLeft)}
        tone={budgetTone(row.budgetLeft)}
      />
    ),
  },
  { key: 'burn', title: words.columns.burn, cell: (row) => times(row.burnRate), numeric: true, wide: true },
  { key: 'spent', title: words.columns.spent, cell: spentIn, numeric: true, wide: true },
  {
    key: 'fires',
    title: words.columns.fires,
    cell: (row) => firing(row).join(', ') || NONE,
    wide: true,
  },
];

/** Every objective with what is left of its error budget: those out of it first. */
export function Slos() {
  const [state, setState] = useUrlChoice('state', filters, 'all');
  const query = useQuery(slosQuery());
  return (
    <Page
      title={words.title}
      query={query}
      aside={
        <FilterTabs
          label={words.filter}
          value={state}
          options={filters}
          words={words.states}
          onChange={setState}
        />
      }
    >
      {({ items }) => {
        const all = items.flatMap((snapshot) => snapshot.objectives);
        const shown = worstFirst(all.filter((each) => state === 'all' || each.state === state));
        if (all.length === 0) return <EmptyState title={words.none} text={words.noneText} />;
        if (shown.length === 0) {
          return (
            <EmptyState title={words.noneMatch} text={words.noneMatchText} onClear={() => setState('all')} />
          );
        }
        const services = items.filter((snapshot) => snapshot.objectives.some((each) => shown.includes(each)));
        return services.map((snapshot) => {
          const name = snapshot.objectives[0]?.service ?? '';
          return (
            <Panel
              key={name}
              title={name}
              flush
              aside={
                <span>
                  {words.asOf} <TimeAgo at={snapshot.evaluatedAt} />
                </span>
              }
            >
              <DataTable
                label={words.objectivesOf(name)}
                columns={columns}
                rows={shown.filter((each) => each.service === name)}
                rowKey={(row) => row.name}
              />
            </Panel>
          );
        });
      }}
    </Page>
  );
}
