import { IconCircleCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { Overview } from '@/api/types';
import { Panel } from '@/components/Panel';
import { StatusBadge, wordOf } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { ZoneTag } from '@/components/ZoneTag';
import { attention } from '@/features/overview/model';
import { t } from '@/texts';
import classes from './Overview.module.css';

/** The first thing to read: what is open, most urgent first; or, in one line, that nothing is. */
export function Attention({ overview }: { overview: Overview }) {
  const items = attention(overview);
  if (items.length === 0) {
    return (
      <div className={classes.quiet}>
        <IconCircleCheck size={18} aria-hidden />
        <strong>{t.overview.quiet}.</strong>
        <span>{t.overview.quietText(wordOf(overview.mode))}</span>
      </div>
    );
  }
  return (
    <Panel title={t.overview.attention} flush>
      <ul className={classes.items}>
        {items.map((item) => {
          const line = (
            <>
              <StatusBadge state={item.state} />
              <span className={classes.kind}>{item.kind}</span>
              <span className={classes.what}>{item.title}</span>
              {item.target && <ZoneTag target={item.target} />}
              {item.since && (
                <span className={classes.since}>
                  <TimeAgo at={item.since} />
                </span>
              )}
            </>
          );
          return (
            <li key={`${item.kind}${item.id}`}>
              {item.to === null ? (
                <div className={classes.item}>{line}</div>
              ) : (
                <Link className={classes.item} to={item.to}>
                  {line}
                </Link>
              )}
            </li>
          );
        })}
      </ul>
    </Panel>
  );
}
