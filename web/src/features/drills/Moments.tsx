import type { DrillReport } from '@/api/types';
import { StatusBadge } from '@/components/StatusBadge';
import { moments } from '@/features/drills/model';
import { duration } from '@/lib/format';
import { absolute, clockTime } from '@/lib/time';
import { t } from '@/texts';
import classes from './Report.module.css';

const words = t.drills.report;

/** Injected, detected, mitigated, recovered: when, and how long after the injection. */
export function Moments({ report }: { report: DrillReport }) {
  return (
    <ol className={classes.moments}>
      {moments(report).map(({ key, at, after, late }) => (
        <li key={key} data-missing={at === null}>
          <span className={classes.moment}>{words[key]}</span>
          {at === null ? (
            <StatusBadge state={late ? 'failed' : 'unknown'} label={words.never} />
          ) : (
            <>
              <span className={classes.after} data-late={late}>
                {after === null ? words.start : words.after(duration(after))}
              </span>
              <time className={classes.dim} dateTime={at} title={absolute(at)}>
                {clockTime(at)}
              </time>
            </>
          )}
          {key === 'mitigated' && report.recoveryWithin !== null && (
            <span className={classes.dim}>{words.allowed(duration(report.recoveryWithin))}</span>
          )}
        </li>
      ))}
    </ol>
  );
}
