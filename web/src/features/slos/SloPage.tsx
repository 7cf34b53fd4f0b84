import { Anchor, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { sloQuery } from '@/api/slos';
import type { ObjectiveStatus, PlaceStatus, TierStatus } from '@/api/types';
import { type Column, DataTable } from '@/components/DataTable';
import { EmptyState } from '@/components/EmptyState';
import { type Fact, Facts } from '@/components/Facts';
import { Meter } from '@/components/Meter';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { budgetTone, counted, objective, rate, spentIn, tierState } from '@/features/slos/model';
import { count, NONE, percent, times } from '@/lib/format';
import { t } from '@/texts';

const words = t.slos;

/** One objective: what is left of its budget, what each burn-rate tier says, and how each part stands. */
export function SloPage() {
  const { name = '' } = useParams();
  const query = useQuery(sloQuery(name));
  const slo = query.data;
  return (
    <Page
      name={name}
      title={
        <>
          {name} {slo && <StatusBadge state={slo.state} />}
        </>
      }
      above={
        <Anchor component={Link} to="/slos" size="sm">
          {words.title}
        </Anchor>
      }
      query={query}
    >
      {(found) => <Detail slo={found} />}
    </Page>
  );
}

function Detail({ slo }: { slo: ObjectiveStatus }) {
  return (
    <Stack gap="md">
      <Panel>
        <Facts facts={facts(slo)} />
        {slo.budgetLeft === null && (
          <Text size="sm" mt="sm">
            {words.tooFew(count(slo.minEvents), words.counts[slo.counts])}
          </Text>
        )}
      </Panel>
      <Panel title={words.tiers} flush={slo.tiers.length > 0}>
        {slo.tiers.length === 0 ? (
          <EmptyState title={words.noTiers} />
        ) : (
          <DataTable label={words.tiers} columns={tierColumns} rows={slo.tiers} rowKey={(row) => row.name} />
        )}
      </Panel>
      <Panel title={words.places} flush={slo.places.length > 0}>
        {slo.places.length === 0 ? (
          <EmptyState title={words.noPlaces} />
        ) : (
          <DataTable
            label={words.places}
            columns={placeColumns}
            rows={slo.places}
            rowKey={(row) => row.target}
          />
        )}
      </Panel>
    </Stack>
  );
}

function facts(slo: ObjectiveStatus): Fact[] {
  const names = words.facts;
  return [
    {
      name: words.columns.budget,
      value: (
        <Meter
          value={slo.budgetLeft}
          label={words.budgetOf(slo.name)}
          text={slo.budgetLeft === null ? words.unknown : percent(slo.budgetLeft)}
          tone={budgetTone(slo.budgetLeft)}
        />
      ),
    },
    { name: words.columns.burn, value: times(slo.burnRate) },
    { name: words.columns.spent, value: spentIn(slo) },
    { name: words.columns.value, value: percent(slo.value) },
    { name: words.columns.objective, value: words.over(objective(slo.target), slo.window) },
    { name: names.counted, value: counted(slo) },
    { name: names.observed, value: percent(slo.observed) },
    { name: names.since, value: <TimeAgo at={slo.windowStart} /> },
    { name: names.service, value: slo.service },
    { name: names.indicator, value: <span className="mono">{slo.indicator}</span> },
  ];
}

const tierColumns: Column<TierStatus>[] = [
  {
    key: 'state',
    title: words.columns.state,
    cell: (row) => <StatusBadge state={tierState(row)} />,
  },
  { key: 'name', title: words.tier, cell: (row) => row.name },
  {
    key: 'severity',
    title: words.severity,
    cell: (row) => t.words[row.severity] ?? row.severity,
    wide: true,
  },
  { key: 'factor', title: words.factor, cell: (row) => times(row.factor), numeric: true },
  {
    key: 'long',
    title: words.long,
    cell: (row) => rate(row.long, row.burnLong, row.leastLong),
    numeric: true,
    wide: true,
  },
  {
    key: 'short',
    title: words.short,
    cell: (row) => rate(row.short, row.burnShort, row.leastShort),
    numeric: true,
    wide: true,
  },
  { key: 'events', title: words.events, cell: (row) => count(row.events), numeric: true, wide: true },
  { key: 'says', title: words.says, cell: (row) => row.says },
];

const placeColumns: Column<PlaceStatus>[] = [
  { key: 'state', title: words.columns.state, cell: (row) => <StatusBadge state={row.state} /> },
  { key: 'target', title: words.place, cell: (row) => <ZoneTag target={row.target} /> },
  { key: 'value', title: words.now, cell: (row) => percent(row.value), numeric: true },
  { key: 'events', title: words.events, cell: (row) => count(row.samples), numeric: true, wide: true },
  { key: 'fires', title: words.columns.fires, cell: (row) => row.firing.join(', ') || NONE },
  { key: 'note', title: words.note, cell: (row) => row.detail || NONE, wide: true },
];
