import { ago, anApproval, anIncident, anOverview, aRunSummary, NOW } from '@test/factories';
import { describe, expect, it } from 'vitest';
import { attention, bands, extent, oldSince } from '@/features/overview/model';

describe('attention', () => {
  it('is empty when nothing is open', () => expect(attention(anOverview())).toEqual([]));

  it('puts what fires first, then what cannot be seen, then what runs, then what is contained', () => {
    const overview = anOverview({
      openIncidents: [anIncident({ id: 'm', state: 'mitigated' }), anIncident({ id: 'f', state: 'firing' })],
      activeRuns: [aRunSummary({ id: 'r', state: 'running' })],
      sources: [{ name: 'prometheus', state: 'lost', lastAt: null, detail: 'refused' }],
    });
    expect(attention(overview).map((item) => item.id)).toEqual(['f', 'prometheus', 'r', 'm']);
  });

  it('puts what waits for people before what runs, and leads to the run that asks', () => {
    const overview = anOverview({ approvals: [anApproval()], activeRuns: [aRunSummary({ id: 'r' })] });
    expect(attention(overview).map((item) => item.to)).toEqual(['/runs/run-1', '/runs/r']);
  });

  it('leaves incidents that are folded into a wider one to that one', () => {
    const overview = anOverview({
      openIncidents: [anIncident(), anIncident({ id: 'child', parent: 'inc-1' })],
    });
    expect(attention(overview).map((item) => item.id)).toEqual(['inc-1']);
  });

  it('names files that could not be read, since the last good revision is still in force', () => {
    const problem = {
      file: 'zone.yaml',
      line: 3,
      column: 5,
      path: 'spec',
      message: 'unknown key',
      suggestion: null,
    };
    expect(attention(anOverview({ problems: [problem] })).map((item) => item.title)).toEqual([
      'zone.yaml:3:5: unknown key',
    ]);
  });
});

describe('oldSince', () => {
  it('is silent while the controller looks', () =>
    expect(oldSince(anOverview(), Date.parse(NOW) + 4000)).toBeNull());

  it('says how long ago it looked', () => expect(oldSince(anOverview(), Date.parse(NOW) + 42_000)).toBe(42));

  it('is silent before the first look', () =>
    expect(oldSince(anOverview({ tickAt: null }), Date.parse(NOW))).toBeNull());
});

describe('bands', () => {
  it('come in the order of time, and stay open while a drill stands', () => {
    const overview = anOverview({
      drills: [
        { run: 'b', name: 'now', startedAt: ago(60), endedAt: null },
        { run: 'a', name: 'before', startedAt: ago(600), endedAt: ago(500) },
      ],
    });
    expect(bands(overview).map(({ label, to }) => [label, to])).toEqual([
      ['Drill before', Date.parse(ago(500)) / 1000],
      ['Drill now', null],
    ]);
  });
});

describe('extent', () => {
  it('passes over what is not known', () => expect(extent([null, 3, null, 1])).toEqual([1, 3]));
  it('of nothing known is nothing', () => expect(extent([null])).toBeNull());
});
