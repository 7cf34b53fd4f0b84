/** What the overview shows, derived from the API's answer. Pure. */
import type { HistoryPoint, Overview } from '@/api/types';
import type { Band } from '@/components/chart/options';
import { t } from '@/texts';

export type AttentionItem = {
  id: string;
  kind: string;
  state: string;
  title: string;
  target: string | null;
  since: string | null;
  to: string | null;
};

/** Most urgent first: what fires, what the observer cannot see, what runs, then what is already contained. */
const urgency = [
  'firing',
  'lost',
  'stuck',
  'stale',
  'unknown',
  'pending',
  'refused',
  'approve',
  'undoing',
  'running',
  'verifying',
  'queued',
];

const rank = (state: string) => {
  const at = urgency.indexOf(state);
  return at === -1 ? urgency.length : at;
};

/** Everything that needs an operator's eye now. Incidents folded into a wider one are left to that one. */
export function attention(overview: Overview): AttentionItem[] {
  const incidents = overview.openIncidents
    .filter((each) => each.parent === null)
    .map((each) => ({
      id: each.id,
      kind: t.overview.items.incident,
      state: each.state as string,
      title: each.title,
      target: each.target,
      since: each.firedAt ?? each.openedAt,
      to: `/incidents/${each.id}`,
    }));
  const approvals = overview.approvals.map((each) => ({
    id: each.id,
    kind: t.overview.items.approval,
    state: 'approve',
    title: each.text,
    target: null,
    since: each.requestedAt,
    to: `/runs/${each.run}`,
  }));
  const runs = overview.activeRuns.map((each) => ({
    id: each.id,
    kind: each.kind === 'drill' ? t.overview.items.drill : t.overview.items.run,
    state: each.state as string,
    title: each.name,
    target: each.target,
    since: each.startedAt ?? each.createdAt,
    to: `/runs/${each.id}`,
  }));
  const sources = overview.sources
    .filter((each) => each.state !== 'fresh')
    .map((each) => ({
      id: each.name,
      kind: t.overview.items.source,
      state: each.state as string,
      title: each.detail ? `${each.name}: ${each.detail}` : each.name,
      target: null,
      since: each.lastAt,
      to: null,
    }));
  const files = overview.problems.map((each) => ({
    id: `${each.file}:${each.line}:${each.column}`,
    kind: t.overview.items.file,
    state: 'refused',
    title: `${each.file}:${each.line}:${each.column}: ${each.message}`,
    target: null,
    since: null,
    to: null,
  }));
  return [...incidents, ...sources, ...files, ...approvals, ...runs].sort(
    (a, b) => rank(a.state) - rank(b.state),
  );
}

/** Seconds after which the picture is called old: many ticks, whatever the tick. */
export const OLD = 15;

/** Seconds since the controller looked, when that is too long ago; null while it is fresh or never was. */
export function oldSince(overview: Overview, now: number): number | null {
  if (overview.tickAt === null) return null;
  const age = (now - Date.parse(overview.tickAt)) / 1000;
  return age > OLD ? age : null;
}

export const times = (history: HistoryPoint[]) => history.map((point) => Date.parse(point.at) / 1000);

export const bands = (overview: Overview): Band[] =>
  [...overview.drills].reverse().map((drill) => ({
    from: Date.parse(drill.startedAt) / 1000,
    to: drill.endedAt === null ? null : Date.parse(drill.endedAt) / 1000,
    label: t.overview.headline.drill(drill.name),
  }));

/** Lowest and highest known value; null when none is known. */
export function extent(values: (number | null)[]): [number, number] | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : [Math.min(...known), Math.max(...known)];
}
