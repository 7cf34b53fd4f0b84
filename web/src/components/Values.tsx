import { inline } from '@/lib/format';
import { t } from '@/texts';
import classes from './Values.module.css';

/** The values something was decided or done on: every key, none left out. */
export function Values({ values }: { values: Record<string, unknown> }) {
  const entries = Object.entries(values);
  if (entries.length === 0) return <span className={classes.none}>{t.json.none}</span>;
  return (
    <dl className={classes.values}>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{inline(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
