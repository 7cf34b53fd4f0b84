import { Stack, Text } from '@mantine/core';
import type { Approval, RunDetail } from '@/api/types';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { Values } from '@/components/Values';
import { Operations } from '@/features/runs/Operations';
import { t } from '@/texts';
import classes from './Runs.module.css';

const words = t.runs.approvals;

/** What the run asks of people, with what it would do; and what was decided before. */
export function Approvals({ detail }: { detail: RunDetail }) {
  return detail.approvals.map((each) => (
    <Panel key={each.id} title={each.decision === null ? words.waits : words.decided[each.decision]}>
      <Stack gap="sm">
        <Text size="sm">{each.text}</Text>
        {each.decision === null ? <Open approval={each} detail={detail} /> : <Decided approval={each} />}
      </Stack>
    </Panel>
  ));
}

function Open({ approval, detail }: { approval: Approval; detail: RunDetail }) {
  const { steps, blastRadius } = approval.preview as Preview;
  return (
    <>
      <Text size="sm" c="dimmed">
        {words.who(approval.roles.join(', '))} {words.timeout[approval.onTimeout]}{' '}
        <TimeAgo at={approval.expiresAt} />.
      </Text>
      {steps !== undefined && (
        <ol className={classes.preview} aria-label={words.preview}>
          {steps.map((step) => (
            <li key={step.id}>
              <strong>{step.id}</strong> <span className="mono">{step.uses}</span>{' '}
              {step.outlook !== 'runs' && <span>{step.why || words.outlook[step.outlook]}</span>}
              {step.changes.map((change) => (
                <div key={`${change.target}${change.field}`}>
                  {words.change(change.target, change.field, String(change.before), String(change.after))}
                </div>
              ))}
            </li>
          ))}
        </ol>
      )}
      {blastRadius !== undefined && (
        <div>
          <StatusBadge state={blastRadius.verdict} /> <span>{blastRadius.message}</span>
          <Values values={blastRadius.values} />
        </div>
      )}
      <Operations detail={detail} only={['approve', 'reject']} />
    </>
  );
}

function Decided({ approval }: { approval: Approval }) {
  return (
    <Text size="sm" c="dimmed">
      {words.by(approval.decidedBy)} <TimeAgo at={approval.decidedAt ?? approval.expiresAt} />
      {approval.comment && `: ${approval.comment}`}
    </Text>
  );
}

/** What the API keeps of the plan that was drawn when it asked; see `PlannedStep` in its models. */
type Preview = {
  steps?: {
    id: string;
    uses: string;
    outlook: 'runs' | 'skipped' | 'depends' | 'broken';
    why: string;
    changes: { target: string; field: string; before: unknown; after: unknown }[];
  }[];
  blastRadius?: { verdict: string; message: string; values: Record<string, unknown> };
};
