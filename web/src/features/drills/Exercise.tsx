import { Link } from 'react-router';
import type { DrillReport } from '@/api/types';
import { Duration } from '@/components/Duration';
import { Facts } from '@/components/Facts';
import { StatusBadge } from '@/components/StatusBadge';
import { ZoneTag } from '@/components/ZoneTag';
import { t } from '@/texts';
import classes from './Report.module.css';

const words = t.drills.report;

/** The playbook that an exercise ran in place of a fault, and what became of it. */
export function Exercise({ exercise }: { exercise: NonNullable<DrillReport['exercise']> }) {
  return (
    <>
      <Facts
        facts={[
          {
            name: words.exercised,
            value: <Link to={`/runs/${exercise.run}`}>{exercise.playbook}</Link>,
          },
          { name: words.outcome, value: <StatusBadge state={exercise.state} /> },
          { name: words.exercisedOn, value: <ZoneTag target={exercise.target} /> },
          { name: words.took, value: <Duration from={exercise.startedAt} to={exercise.endedAt} /> },
        ]}
      />
      {exercise.detail && <p className={classes.dim}>{exercise.detail}</p>}
    </>
  );
}
