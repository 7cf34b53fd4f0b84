import { Anchor, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { incidentQuery } from '@/api/incidents';
import type { Incident, IncidentDetail, RunSummary } from '@/api/types';
import { CopyId } from '@/components/CopyId';
import { type Column, DataTable } from '@/components/DataTable';
import { Decisions } from '@/components/Decisions';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { type Fact, Facts } from '@/components/Facts';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { Timeline } from '@/features/incidents/Timeline';
import { inline } from '@/lib/format';
import { useUrlChoice } from '@/lib/useUrlState';
import { t } from '@/texts';

const words = t.incidents;
const tabs = ['timeline', 'decisions', 'runs'] as const;

/** One incident: what was seen, what was decided on which values, what was done. */
export function IncidentPage() {
  const { id = '' } = useParams();
  const query = useQuery(incidentQuery(id));
  const incident = query.data?.incident;
  return (
    <Page
      name={incident?.title ?? words.title}
      title={
        incident ? (
          <>
            {incident.title} <StatusBadge state={incident.state} />
          </>
        ) : (
          words.title
        )
      }
      above={
        <Anchor component={Link} to="/incidents" size="sm">
          {words.title}
        </Anchor>
      }
      query={query}
    >
      {(detail) => <Detail detail={detail} />}
    </Page>
  );
}

const runColumns: Column<RunSummary>[] = [
  { key: 'state', title: t.runs.columns.state, cell: (row) => <StatusBadge state={row.state} /> },
  { key: 'name', title: t.runs.columns.name, cell: (row) => <Link to={`/runs/${row.id}`}>{row.name}</Link> },
  {
    key: 'started',
    title: t.runs.columns.started,
    cell: (row) => <TimeAgo at={row.startedAt ?? row.createdAt} />,
  },
  {
    key: 'took',
    title: t.runs.columns.took,
    cell: (row) => <Duration from={row.startedAt ?? row.createdAt} to={row.endedAt} />,
    numeric: true,
  },
];

const childColumns: Column<Incident>[] = [
  { key: 'state', title: words.columns.state, cell: (row) => <StatusBadge state={row.state} /> },
  {
    key: 'what',
    title: words.columns.what,
    cell: (row) => <Link to={`/incidents/${row.id}`}>{row.title}</Link>,
  },
  { key: 'where', title: words.columns.where, cell: (row) => <ZoneTag target={row.target} /> },
];

function Detail({ detail }: { detail: IncidentDetail }) {
  const { incident, timeline, decisions, runs, children } = detail;
  const [tab, setTab] = useUrlChoice('tab', tabs, 'timeline');
  return (
    <Stack gap="md">
      <Panel>
        <Facts facts={facts(incident)} />
        {incident.detail && (
          <Text size="sm" mt="sm">
            {incident.detail}
          </Text>
        )}
      </Panel>
      <Tabs value={tab} onChange={(next) => setTab((next ?? 'timeline') as (typeof tabs)[number])}>
        <Tabs.List>
          <Tabs.Tab value="timeline">{words.tabs.timeline}</Tabs.Tab>
          <Tabs.Tab value="decisions">{`${words.tabs.decisions} (${decisions.length})`}</Tabs.Tab>
          <Tabs.Tab value="runs">{`${words.tabs.runs} (${runs.length})`}</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="timeline" pt="md">
          <Timeline entries={timeline} />
        </Tabs.Panel>
        <Tabs.Panel value="decisions" pt="md">
          {decisions.length === 0 ? (
            <EmptyState title={words.noDecisions} />
          ) : (
            <Decisions decisions={decisions} />
          )}
        </Tabs.Panel>
        <Tabs.Panel value="runs" pt="md">
          {runs.length === 0 ? (
            <EmptyState title={words.noRuns} />
          ) : (
            <Panel flush>
              <DataTable label={words.tabs.runs} columns={runColumns} rows={runs} rowKey={(row) => row.id} />
            </Panel>
          )}
        </Tabs.Panel>
      </Tabs>
      {children.length > 0 && (
        <Panel title={words.children} flush>
          <DataTable label={words.children} columns={childColumns} rows={children} rowKey={(row) => row.id} />
        </Panel>
      )}
    </Stack>
  );
}

function facts(incident: Incident): Fact[] {
  const names = words.facts;
  const since = (at: string | null) => at && <Duration from={incident.openedAt} to={at} />;
  const all: (Fact | null)[] = [
    { name: words.columns.where, value: <ZoneTag target={incident.target} /> },
    { name: names.opened, value: <TimeAgo at={incident.openedAt} /> },
    incident.firedAt ? { name: names.fired, value: since(incident.firedAt) } : null,
    incident.mitigatedAt ? { name: names.mitigated, value: since(incident.mitigatedAt) } : null,
    incident.resolvedAt ? { name: names.resolved, value: since(incident.resolvedAt) } : null,
    incident.calmSince && !incident.resolvedAt
      ? { name: names.calm, value: <TimeAgo at={incident.calmSince} /> }
      : null,
    { name: names.value, value: inline(incident.value) },
    { name: names.objective, value: inline(incident.objective) },
    {
      name: names.tier,
      value: [words.severity[incident.severity], incident.tier].filter(Boolean).join(', '),
    },
    { name: names.signal, value: <span className="mono">{incident.signal}</span> },
    incident.parent
      ? { name: names.parent, value: <Link to={`/incidents/${incident.parent}`}>{incident.parent}</Link> }
      : null,
    { name: names.id, value: <CopyId id={incident.id} /> },
  ];
  return all.filter((each) => each !== null);
}
