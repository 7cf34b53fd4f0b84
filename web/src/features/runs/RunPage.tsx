import { Anchor, Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { IconFlask, IconHourglass } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { runQuery } from '@/api/runs';
import type { Run, RunDetail } from '@/api/types';
import { CopyId } from '@/components/CopyId';
import { DecisionCard } from '@/components/Decisions';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { type Fact, Facts } from '@/components/Facts';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { Values } from '@/components/Values';
import { ZoneTag } from '@/components/ZoneTag';
import { Approvals } from '@/features/runs/Approvals';
import { Attempts } from '@/features/runs/Attempts';
import { Faults } from '@/features/runs/Faults';
import { Journal } from '@/features/runs/Journal';
import { Operations } from '@/features/runs/Operations';
import { Steps } from '@/features/runs/Steps';
import { Undo } from '@/features/runs/Undo';
import { useUrlChoice } from '@/lib/useUrlState';
import { t } from '@/texts';
import classes from './Runs.module.css';

const words = t.runs;
const tabs = ['steps', 'why', 'journal', 'undo', 'attempts', 'pins', 'faults'] as const;
type Tab = (typeof tabs)[number];

/** One run: what it did, step by step, why it started, and what takes it back. */
export function RunPage() {
  const { id = '' } = useParams();
  const query = useQuery(runQuery(id));
  const run = query.data?.run;
  return (
    <Page
      name={run?.name ?? words.title}
      title={
        run ? (
          <>
            {run.name} <StatusBadge state={run.state} />
          </>
        ) : (
          words.title
        )
      }
      above={
        <Anchor component={Link} to="/runs" size="sm">
          {words.title}
        </Anchor>
      }
      aside={
        run?.kind === 'drill' && run.endedAt !== null ? (
          <Button
            component={Link}
            to={`/drills/${run.id}`}
            size="xs"
            variant="default"
            leftSection={<IconFlask size={15} aria-hidden />}
          >
            {words.report}
          </Button>
        ) : undefined
      }
      query={query}
    >
      {(detail) => <Detail detail={detail} />}
    </Page>
  );
}

function Detail({ detail }: { detail: RunDetail }) {
  const { run } = detail;
  const shown = tabs.filter((tab) => tab !== 'faults' || run.kind === 'drill');
  const [tab, setTab] = useUrlChoice<Tab>('tab', shown, 'steps');
  const counts: Partial<Record<Tab, number>> = {
    steps: detail.steps.length,
    journal: detail.journal.length,
    undo: detail.undo.length,
    attempts: detail.attempts.length,
    faults: detail.faults.length,
  };
  return (
    <Stack gap="md">
      <Panel>
        <Facts facts={facts(detail)} />
        <div className={classes.operations}>
          <Operations detail={detail} />
        </div>
        {run.reason && (
          <Text size="sm" mt="sm">
            {run.reason}
          </Text>
        )}
        {run.waiting && (
          <p className={classes.waiting}>
            <IconHourglass size={15} aria-hidden />
            {run.waiting}
          </p>
        )}
      </Panel>
      <Approvals detail={detail} />
      <Tabs value={tab} onChange={(next) => setTab((next ?? 'steps') as Tab)} keepMounted={false}>
        <Tabs.List>
          {shown.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {words.tabs[each]}
              {counts[each] !== undefined && ` (${counts[each]})`}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab} pt="md">
          <TabContent tab={tab} detail={detail} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

function TabContent({ tab, detail }: { tab: Tab; detail: RunDetail }) {
  switch (tab) {
    case 'steps':
      return <Steps steps={detail.steps} />;
    case 'why':
      return <Why detail={detail} />;
    case 'journal':
      return <Journal lines={detail.journal} run={detail.run.id} />;
    case 'undo':
      return <Undo records={detail.undo} />;
    case 'attempts':
      return <Attempts attempts={detail.attempts} />;
    case 'pins':
      return <Pins run={detail.run} />;
    case 'faults':
      return <Faults faults={detail.faults} />;
  }
}

function Why({ detail }: { detail: RunDetail }) {
  const { decision } = detail;
  if (decision === null) {
    return <EmptyState title={words.decision.none} text={words.decision.noneText} />;
  }
  return <DecisionCard decision={decision} />;
}

function Pins({ run }: { run: Run }) {
  return (
    <Stack gap="md">
      <Panel title={words.pins}>
        <Values
          values={Object.fromEntries(Object.entries(run.pins).map(([name, sha]) => [name, sha.slice(0, 12)]))}
        />
      </Panel>
      <Panel title={words.inputs}>
        <Values values={run.inputs} />
      </Panel>
      <Panel title={words.scope}>
        <Values values={run.scope} />
      </Panel>
      <Panel title={words.result}>
        <Values values={run.result} />
      </Panel>
    </Stack>
  );
}

function facts({ run, incident, outOfService }: RunDetail): Fact[] {
  const names = words.facts;
  const all: (Fact | null)[] = [
    { name: names.kind, value: words.kind[run.kind] },
    run.target ? { name: names.target, value: <ZoneTag target={run.target} /> } : null,
    { name: names.trigger, value: run.trigger },
    { name: names.startedBy, value: run.startedBy },
    incident
      ? {
          name: names.incident,
          value: (
            <Anchor component={Link} to={`/incidents/${incident.id}`}>
              {incident.title}
            </Anchor>
          ),
        }
      : null,
    { name: names.started, value: <TimeAgo at={run.startedAt ?? run.createdAt} /> },
    {
      name: run.endedAt ? names.took : names.soFar,
      value: <Duration from={run.startedAt} to={run.endedAt} />,
    },
    run.group ? { name: names.group, value: <span className="mono">{run.group}</span> } : null,
    run.leaseOwner ? { name: names.worker, value: <span className="mono">{run.leaseOwner}</span> } : null,
    { name: names.fence, value: run.fence },
    outOfService.length > 0
      ? {
          name: words.outOfService,
          value: (
            <Group gap={4}>
              {outOfService.map((each) => (
                <ZoneTag key={`${each.target}${each.dimension}`} target={each.target} />
              ))}
            </Group>
          ),
        }
      : null,
    { name: names.id, value: <CopyId id={run.id} /> },
  ];
  return all.filter((each) => each !== null);
}
