import { IconChevronRight } from '@tabler/icons-react';
import type { StepRecord } from '@/api/types';
import { Duration } from '@/components/Duration';
import { EmptyState } from '@/components/EmptyState';
import { StatusBadge } from '@/components/StatusBadge';
import { lookOf } from '@/components/status';
import { TimeAgo } from '@/components/TimeAgo';
import { Values } from '@/components/Values';
import { t } from '@/texts';
import { toneVar } from '@/theme';
import classes from './Runs.module.css';

const words = t.runs.step;

/** The steps in their order, each with its state, its time, and what came out of it. */
export function Steps({ steps }: { steps: readonly StepRecord[] }) {
  if (steps.length === 0) return <EmptyState title={words.none} text={words.noneText} />;
  return (
    <ol className={classes.steps}>
      {steps.map((step) => (
        <Step key={step.id} step={step} />
      ))}
    </ol>
  );
}

function Step({ step }: { step: StepRecord }) {
  const waits = step.dueAt !== null && step.endedAt === null && step.state === 'waiting';
  const outputs = Object.keys(step.outputs).length > 0;
  return (
    <li className={classes.step} style={{ '--tone-line': toneVar(lookOf(step.state).tone, 'line') }}>
      <div className={classes.stepHead}>
        <span className={classes.stepName}>{step.id}</span>
        <span className="mono">{step.uses}</span>
        <StatusBadge state={step.state} />
        {step.attempt > 1 && <span className={classes.dim}>{words.attempt(step.attempt)}</span>}
        {waits && (
          <span className={classes.dim}>
            {words.due} <TimeAgo at={step.dueAt} />
          </span>
        )}
        {step.blockedAt !== null && step.endedAt === null && (
          <span className={classes.held}>
            {words.held} <TimeAgo at={step.blockedAt} />
          </span>
        )}
        <span className={classes.took}>
          <Duration from={step.startedAt} to={step.endedAt} />
        </span>
      </div>
      {step.error && (
        <p className={classes.error} role="note">
          {words.error}: {step.error}
        </p>
      )}
      {Object.keys(step.parameters).length > 0 && (
        <div className={classes.given}>
          <span className={classes.dim}>{words.parameters}</span>
          <Values values={step.parameters} />
        </div>
      )}
      {outputs && (
        <details className={classes.outputs} open>
          <summary>
            <IconChevronRight size={14} aria-hidden /> {words.outputs}
          </summary>
          <Values values={step.outputs} />
        </details>
      )}
    </li>
  );
}
