import { IconMapPin } from '@tabler/icons-react';
import classes from './ZoneTag.module.css';

/** A part of the fleet by its text form: the last part stands out, the way to it is on hover. */
export function ZoneTag({ target }: { target: string }) {
  const parts = target.split('/');
  const shown = parts.length > 2 ? parts.slice(2).join(' / ') : (parts[0] ?? target);
  return (
    <span className={classes.tag} title={target}>
      <IconMapPin size={13} aria-hidden />
      <span className="mono">{shown}</span>
    </span>
  );
}
