import { useQuery } from '@tanstack/react-query';
import { NavLink } from 'react-router';
import { overviewQuery } from '@/api/overview';
import { pages } from '@/components/shell/pages';
import { t } from '@/texts';
import { type Tone, toneVar } from '@/theme';
import classes from './Shell.module.css';

/** The menu, with the numbers of what is open on the pages where it is dealt with. */
export function Navigation() {
  const { data } = useQuery(overviewQuery());
  const counts: Record<string, { value: number; tone: Tone }> = {
    '/incidents': {
      value: data?.openIncidents.filter((each) => each.parent === null).length ?? 0,
      tone: 'bad',
    },
    '/runs': { value: data?.activeRuns.length ?? 0, tone: 'busy' },
    '/drills': { value: data?.activeDrill ? 1 : 0, tone: 'drill' },
  };
  return (
    <nav aria-label={t.nav.label}>
      <ul className={classes.links}>
        {pages.map(({ path, title, icon: Icon }) => {
          const count = counts[path];
          return (
            <li key={path}>
              <NavLink to={path} end={path === '/'} className={classes.link ?? ''}>
                <Icon size={18} stroke={1.7} aria-hidden />
                {title}
                {count !== undefined && count.value > 0 && (
                  <span
                    className={classes.count}
                    style={{ '--tone-bg': toneVar(count.tone, 'bg'), '--tone-fg': toneVar(count.tone, 'fg') }}
                  >
                    {count.value}
                  </span>
                )}
              </NavLink>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
