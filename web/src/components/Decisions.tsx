import { Stack } from '@mantine/core';
import { Link } from 'react-router';
import type { Decision } from '@/api/types';
import { Guards } from '@/components/Guards';
import { Panel } from '@/components/Panel';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { Values } from '@/components/Values';
import { t } from '@/texts';
import classes from './Decisions.module.css';

const words = t.runs.decision;

/** Decisions, also those not to act, each with the values it was made on and what every guard said. */
export function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  return (
    <Stack gap="sm">
      {decisions.map((decision) => (
        <DecisionCard key={decision.id} decision={decision} />
      ))}
    </Stack>
  );
}

export function DecisionCard({ decision }: { decision: Decision }) {
  return (
    <Panel
      title={
        <span className={classes.title}>
          <StatusBadge state={decision.outcome} /> {decision.playbook}
        </span>
      }
      aside={
        <span className={classes.when}>
          <TimeAgo at={decision.at} />
          {decision.count > 1 && (
            <>
              , {words.times(decision.count)} <TimeAgo at={decision.lastAt} />
            </>
          )}
        </span>
      }
      flush
    >
      <div className={classes.body}>
        <p className={classes.trigger}>
          {words.trigger}: <span className="mono">{decision.trigger}</span>
          {decision.run && (
            <>
              {' · '}
              <Link to={`/runs/${decision.run}`}>{decision.run}</Link>
            </>
          )}
        </p>
        <Values values={decision.values} />
      </div>
      <Guards guards={decision.guards} />
    </Panel>
  );
}
