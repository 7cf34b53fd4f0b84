/** How an objective is told to people. Pure. */
import type { ObjectiveStatus, TierStatus } from '@/api/types';
import { count, duration, NONE, times } from '@/lib/format';
import { t } from '@/texts';
import type { Tone } from '@/theme';

const words = t.slos;

/** A budget under this share is worth a look before it is spent. */
const LITTLE = 0.25;

export function budgetTone(left: number | null): Tone {
  if (left === null) return 'idle';
  if (left <= 0) return 'bad';
  return left < LITTLE ? 'warn' : 'ok';
}

/** When the budget would be spent at the rate of the last hour. */
export function spentIn(slo: ObjectiveStatus): string {
  if (slo.budgetLeft === null) return NONE;
  if (slo.timeToExhaustion === null) return words.lasts;
  return slo.timeToExhaustion <= 0 ? words.spent : duration(slo.timeToExhaustion);
}

/** The tiers that fire, on the service or on any of its parts. */
export const firing = (slo: ObjectiveStatus): string[] => [
  ...new Set([
    ...slo.tiers.filter((tier) => tier.fires).map((tier) => tier.name),
    ...slo.places.flatMap((place) => place.firing),
  ]),
];

/** A target as it is written: 99.9 %, 99.95 %, 99 %. */
export const objective = (ratio: number): string => `${Number((ratio * 100).toFixed(6))} %`;

/** One window of a tier: its length, its rate, and the least rate that its events make likely. */
export function rate(length: number, seen: number | null, least: number): string {
  return `${span(length)}: ${seen === null ? NONE : `${times(seen)} (${times(least)})`}`;
}

/** A window's length as it is configured: 5 m, 1 h, 3 d. */
export function span(seconds: number): string {
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
  ] as const) {
    if (seconds >= size && seconds % size === 0) return `${seconds / size} ${unit}`;
  }
  return `${Number(seconds.toFixed(3))} s`;
}

export const counted = (slo: ObjectiveStatus): string =>
  words.countedOf(count(slo.total - slo.good), count(slo.total), words.counts[slo.counts]);

/** The worst first, so that a long list begins with what needs a look. */
export function worstFirst(slos: readonly ObjectiveStatus[]): ObjectiveStatus[] {
  const rank = { bad: 0, unknown: 1, good: 2 } as const;
  return slos.toSorted(
    (one, other) =>
      rank[one.state] - rank[other.state] ||
      (one.budgetLeft ?? 1) - (other.budgetLeft ?? 1) ||
      one.name.localeCompare(other.name),
  );
}

export const tierState = (tier: TierStatus): string => (tier.fires ? 'firing' : 'quiet');
