import { Group, Text } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { drillsQuery } from '@/api/drills';
import type { DrillSummary } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { NONE } from '@/lib/format';
import { t } from '@/texts';

const words = t.drills;

const columns: Column<DrillSummary>[] = [
  {
    key: 'verdict',
    title: words.columns.verdict,
    cell: (row) => <StatusBadge state={row.verdict ?? row.state} />,
  },
  { key: 'name', title: words.columns.name, cell: (row) => <Link to={`/runs/${row.id}`}>{row.name}</Link> },
  {
    key: 'targets',
    title: words.columns.targets,
    cell: (row) =>
      row.targets.length === 0 ? (
        NONE
      ) : (
        <Group gap={4}>
          {row.targets.map((target) => (
            <ZoneTag key={target} target={target} />
          ))}
        </Group>
      ),
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
  {
    key: 'report',
    title: words.columns.report,
    cell: (row) =>
      row.verdict === null ? (
        words.notJudged
      ) : (
        <Link to={`/drills/${row.id}`} aria-label={words.report.of(row.name)}>
          {words.openReport}
        </Link>
      ),
  },
];

/** All runs of drills, newest first, with what each found out. */
export function Drills() {
  const query = useQuery(drillsQuery());
  return (
    <Page title={words.title} query={query}>
      {({ items, total }) =>
        items.length === 0 ? (
          <EmptyState icon={IconFlask} title={words.none} text={words.noneText} />
        ) : (
          <Panel flush>
            <DataTable label={words.title} columns={columns} rows={items} rowKey={(row) => row.id} />
            {total > items.length && (
              <Text size="xs" c="dimmed" p="md">
                {words.shown(items.length, total)}
              </Text>
            )}
          </Panel>
        )
      }
    </Page>
  );
}
