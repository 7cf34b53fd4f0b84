import { Anchor, Button, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from 'react-router';
import { reportQuery, reportUrl } from '@/api/drills';
import type { DrillReport } from '@/api/types';
import { Duration } from '@/components/Duration';
import { Facts } from '@/components/Facts';
import { Page } from '@/components/Page';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { Exercise } from '@/features/drills/Exercise';
import { Moments } from '@/features/drills/Moments';
import { Probes } from '@/features/drills/Probes';
import { ReportFaults } from '@/features/drills/ReportFaults';
import { YieldPanel } from '@/features/drills/YieldPanel';
import { count, duration, percent } from '@/lib/format';
import { t } from '@/texts';
import classes from './Report.module.css';

const words = t.drills.report;

/** What a drill found out: the verdict first, then what it rests on. */
export function ReportPage() {
  const { run = '' } = useParams();
  const query = useQuery(reportQuery(run));
  const report = query.data;
  return (
    <Page
      name={report ? words.of(report.drill) : t.drills.title}
      title={
        report ? (
          <>
            {report.drill} <StatusBadge state={report.verdict} />
          </>
        ) : (
          t.drills.title
        )
      }
      above={
        <Anchor component={Link} to="/drills" size="sm">
          {t.drills.title}
        </Anchor>
      }
      aside={
        report && (
          <Group gap="xs">
            {(['html', 'json', 'junit'] as const).map((format) => (
              <Button
                key={format}
                component="a"
                href={reportUrl(report.run, format)}
                target={format === 'junit' ? undefined : '_blank'}
                rel="noreferrer"
                size="xs"
                variant="default"
              >
                {words[format]}
              </Button>
            ))}
          </Group>
        )
      }
      query={query}
    >
      {(data) => <Report report={data} />}
    </Page>
  );
}

function Report({ report }: { report: DrillReport }) {
  return (
    <Stack gap="md">
      <Panel title={words.hypothesis}>
        <p className={classes.hypothesis}>{report.hypothesis}</p>
        {report.reasons.length > 0 && (
          <>
            <h3 className={classes.sub}>{words.reasons}</h3>
            <Lines lines={report.reasons} />
          </>
        )}
      </Panel>
      <div className={classes.pair}>
        {report.exercise ? (
          <Panel title={words.exercise}>
            <Exercise exercise={report.exercise} />
          </Panel>
        ) : (
          <Panel title={words.times}>
            <Moments report={report} />
          </Panel>
        )}
        <Panel title={words.kept}>
          <Kept report={report} />
        </Panel>
      </div>
      <YieldPanel report={report} />
      <Probes probes={report.probes} />
      {report.exercise === null && <ReportFaults faults={report.faults} />}
      <div className={classes.pair}>
        <Panel title={words.deviations}>
          {report.deviations.length === 0 ? (
            <p className={classes.none}>{words.noDeviations}</p>
          ) : (
            <Lines lines={report.deviations} />
          )}
        </Panel>
        <Panel title={words.leftovers}>
          {report.leftovers.length === 0 ? (
            <p className={classes.none}>{words.noLeftovers}</p>
          ) : (
            <div className={classes.left} role="alert">
              <Lines lines={report.leftovers} />
            </div>
          )}
        </Panel>
      </div>
      <Panel>
        <Facts
          facts={[
            { name: words.run, value: <Link to={`/runs/${report.run}`}>{report.run}</Link> },
            { name: words.service, value: report.service },
            { name: words.environment, value: report.environment },
            { name: words.started, value: <TimeAgo at={report.startedAt} /> },
            { name: words.took, value: <Duration from={report.startedAt} to={report.endedAt} /> },
          ]}
        />
      </Panel>
    </Stack>
  );
}

function Kept({ report }: { report: DrillReport }) {
  const { tokens } = report;
  return (
    <>
      <p className={classes.big}>{percent(tokens.kept, 1)}</p>
      <p className={classes.dim}>
        {words.keptOf(count(tokens.effective), count(tokens.expected), duration(tokens.within))}
      </p>
      <p className={classes.dim}>{words.baselines[tokens.baseline]}</p>
      {Object.entries(report.refused).map(([tier, requests]) => (
        <p key={tier} className={classes.dim}>
          {words.refused(count(requests), tier)}
        </p>
      ))}
      <h3 className={classes.sub}>{words.playbook}</h3>
      <p className={classes.playbook}>
        {report.playbookRun && report.playbook ? (
          <Link to={`/runs/${report.playbookRun}`}>{report.playbook}</Link>
        ) : (
          (report.playbook ?? words.noPlaybook)
        )}
        {report.playbookExpected !== null && (
          <span className={classes.dim}>
            {report.playbook === report.playbookExpected
              ? words.asExpected
              : words.expected(report.playbookExpected)}
          </span>
        )}
      </p>
    </>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <ul className={classes.lines}>
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
