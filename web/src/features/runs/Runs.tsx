import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { type RunKindFilter, type RunStateFilter, runKinds, runStates, runsQuery } from '@/api/runs';
import type { RunSummary } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { FilterTabs } from '@/components/FilterTabs';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { NONE } from '@/lib/format';
import { useUrlChoice } from '@/lib/useUrlState';
import { t } from '@/texts';

const words = t.runs;
const states: readonly RunStateFilter[] = ['all', ...runStates];
const kinds: readonly RunKindFilter[] = ['all', ...runKinds];

const columns: Column<RunSummary>[] = [
  { key: 'state', title: words.columns.state, cell: (row) => <StatusBadge state={row.state} /> },
  { key: 'name', title: words.columns.name, cell: (row) => <Link to={`/runs/${row.id}`}>{row.name}</Link> },
  {
    key: 'target',
    title: words.columns.target,
    cell: (row) => (row.target ? <ZoneTag target={row.target} /> : NONE),
  },
  {
    key: 'trigger',
    title: words.columns.trigger,
    cell: (row) => `${row.trigger} (${row.startedBy})`,
    wide: true,
  },
  {
    key: 'started',
    title: words.columns.started,
    cell: (row) => <TimeAgo at={row.startedAt ?? row.createdAt} />,
    wide: true,
  },
  {
    key: 'took',
    title: words.columns.took,
    cell: (row) => <Duration from={row.startedAt} to={row.endedAt} />,
    numeric: true,
    wide: true,
  },
];

/** All runs of playbooks and drills, newest first. */
export function Runs() {
  const [state, setState] = useUrlChoice('state', states, 'all');
  const [kind, setKind] = useUrlChoice('kind', kinds, 'all');
  const query = useQuery(runsQuery(state, kind));
  const filtered = state !== 'all' || kind !== 'all';
  const clear = () => {
    setState('all');
    setKind('all');
  };
  return (
    <Page
      title={words.title}
      query={query}
      aside={
        <Group gap="xs">
          <FilterTabs
            label={words.filterKind}
            value={kind}
            options={kinds}
            words={words.kinds}
            onChange={setKind}
          />
          <FilterTabs
            label={words.filterState}
            value={state}
            options={states}
            words={words.states}
            onChange={setState}
          />
        </Group>
      }
    >
      {({ items, total }) => {
        if (items.length === 0) {
          return filtered ? (
            <EmptyState title={words.noneMatch} text={words.noneMatchText} onClear={clear} />
          ) : (
            <EmptyState title={words.none} text={words.noneText} />
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
