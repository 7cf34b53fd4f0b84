import { IconAlertTriangle } from '@tabler/icons-react';
import { useLive } from '@/api/LiveProvider';
import { clockTime } from '@/lib/time';
import { t } from '@/texts';
import classes from './States.module.css';

/** Says on the page itself that what it shows may be old. Nothing while the stream is well. */
export function StaleNote() {
  const { state, since } = useLive();
  if (state !== 'stale') return null;
  return (
    <div className={classes.stale} role="status">
      <IconAlertTriangle size={16} aria-hidden />
      {t.staleNote(clockTime(since))}
    </div>
  );
}
