/**
 * Which queries an event touches. `ref` is the changed record's id. An event of a kind that is not listed
 * (the API is newer than this page) refetches everything: right, only less thrifty.
 */
import { drillsKey } from '@/api/drills';
import { incidentsKey } from '@/api/incidents';
import { overviewKey } from '@/api/overview';
import { runsKey } from '@/api/runs';
import { slosKey } from '@/api/slos';
import type { ServerEvent } from '@/api/sse';

type Key = readonly unknown[];

const everything: Key[] = [[]];

const byDomain: Record<string, (ref: string) => Key[]> = {
  tick: () => [overviewKey, slosKey],
  reconnect: () => [],
  incident: () => [incidentsKey, overviewKey],
  approval: () => [runsKey, overviewKey],
  run: () => [runsKey, incidentsKey, drillsKey, overviewKey],
  step: () => [runsKey],
  journal: () => [runsKey],
  undo: () => [runsKey],
  decision: () => [incidentsKey, runsKey],
  fault: () => [runsKey, drillsKey, overviewKey],
  drill: () => [runsKey, drillsKey, overviewKey],
  halt: () => [overviewKey],
  outOfService: () => [overviewKey, runsKey],
};

/** The types are `domain` or `domain.what`: `run`, `run.state`. */
export function affected(event: ServerEvent): Key[] {
  const domain = event.type.split('.')[0] ?? '';
  const keys = byDomain[domain];
  return keys === undefined ? everything : keys(refOf(event.data));
}

function refOf(data: string): string {
  try {
    return String((JSON.parse(data) as { ref?: unknown }).ref ?? '');
  } catch {
    return '';
  }
}
