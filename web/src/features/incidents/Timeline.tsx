import { Group } from '@mantine/core';
import { Link } from 'react-router';
import type { TimelineEntry } from '@/api/types';
import { EmptyState } from '@/components/EmptyState';
import { FilterTabs } from '@/components/FilterTabs';
import { StatusBadge, wordOf } from '@/components/StatusBadge';
import { lookOf } from '@/components/status';
import { absolute, clockTime } from '@/lib/time';
import { useUrlChoice } from '@/lib/useUrlState';
import { t } from '@/texts';
import { toneVar } from '@/theme';
import classes from './Timeline.module.css';

const words = t.incidents;
const orders = ['newest', 'oldest'] as const;
const kinds = ['all', 'state', 'decision', 'run', 'fold'] as const;
const kindWords = { all: t.filters.all, ...words.kinds };

/** Where an entry leads: to its run or its incident; decisions stand on the same page. */
function link(entry: TimelineEntry): string | null {
  if (entry.ref === null) return null;
  if (entry.kind === 'run') return `/runs/${entry.ref}`;
  if (entry.kind === 'fold') return `/incidents/${entry.ref}`;
  return null;
}

/** Everything that happened, in one list. */
export function Timeline({ entries }: { entries: readonly TimelineEntry[] }) {
  const [order, setOrder] = useUrlChoice('order', orders, 'newest');
  const [kind, setKind] = useUrlChoice('kind', kinds, 'all');
  if (entries.length === 0) return <EmptyState title={words.noTimeline} />;
  const matching = entries.filter((entry) => kind === 'all' || entry.kind === kind);
  const shown = order === 'newest' ? matching.toReversed() : matching;
  return (
    <div>
      <Group gap="xs" mb="sm">
        <FilterTabs
          label={words.tabs.timeline}
          value={kind}
          options={kinds}
          words={kindWords}
          onChange={setKind}
        />
        <FilterTabs
          label={words.timelineOrder.label}
          value={order}
          options={orders}
          words={words.timelineOrder}
          onChange={setOrder}
        />
      </Group>
      {shown.length === 0 && <EmptyState title={words.noneMatch} onClear={() => setKind('all')} />}
      <ol className={classes.timeline}>
        {shown.map((entry) => (
          <Entry key={`${entry.at}${entry.kind}${entry.title}`} entry={entry} />
        ))}
      </ol>
    </div>
  );
}

function Entry({ entry }: { entry: TimelineEntry }) {
  const to = link(entry);
  const { tone } = lookOf(entry.state);
  return (
    <li className={classes.entry} style={{ '--tone-line': toneVar(tone, 'line') }}>
      <time className={classes.time} dateTime={entry.at} title={absolute(entry.at)}>
        {clockTime(entry.at)}
      </time>
      <div className={classes.body}>
        <span className={classes.kind}>{words.kinds[entry.kind]}</span>
        <StatusBadge state={entry.state} label={wordOf(entry.state)} />
        <span className={classes.title}>
          {to === null ? entry.title : <Link to={to}>{entry.title}</Link>}
        </span>
        {entry.detail && <p className={classes.detail}>{entry.detail}</p>}
      </div>
    </li>
  );
}
