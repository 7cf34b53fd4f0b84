import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { type IncidentStateFilter, incidentStates, incidentsQuery } from '@/api/incidents';
import type { Incident } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { FilterTabs } from '@/components/FilterTabs';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { inline } from '@/lib/format';
import { useUrlChoice } from '@/lib/useUrlState';
import { t } from '@/texts';

const words = t.incidents;
const filters: readonly IncidentStateFilter[] = ['all', ...incidentStates];

const columns: Column<Incident>[] = [
  { key: 'state', title: words.columns.state, cell: (row) => <StatusBadge state={row.state} /> },
  {
    key: 'what',
    title: words.columns.what,
    cell: (row) => <Link to={`/incidents/${row.id}`}>{row.title}</Link>,
  },
  { key: 'where', title: words.columns.where, cell: (row) => <ZoneTag target={row.target} /> },
  { key: 'value', title: words.columns.value, cell: (row) => inline(row.value), numeric: true, wide: true },
  { key: 'opened', title: words.columns.opened, cell: (row) => <TimeAgo at={row.openedAt} />, wide: true },
  {
    key: 'lasted',
    title: words.columns.lasted,
    cell: (row) => <Duration from={row.openedAt} to={row.resolvedAt} />,
    numeric: true,
    wide: true,
  },
];

/** All incidents, newest first. */
export function Incidents() {
  const [state, setState] = useUrlChoice('state', filters, 'all');
  const query = useQuery(incidentsQuery(state));
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
      {({ items, total }) => {
        if (items.length === 0) {
          return state === 'all' ? (
            <EmptyState title={words.none} text={words.noneText} />
          ) : (
            <EmptyState title={words.noneMatch} text={words.noneMatchText} onClear={() => setState('all')} />
          );
        }
        return (
          <Panel flush>
            <DataTable label={words.title} columns={columns} rows={items} rowKey={(row) => row.id} />
            {total > items.length && (
              <Text size="xs" c="dimmed" p="md">
                {words.shown(items.length, total)}
              </Text>
            )}
          </Panel>
        );
      }}
    </Page>
  );
}
