import { ago, aReport } from '@test/factories';
import { describe, expect, it } from 'vitest';
import { moments, probeRows, probeState } from '@/features/drills/model';

const probe = { name: 'share', tolerance: 'at least 95 %', value: null, samples: 0, worst: null, detail: '' };

describe('moments', () => {
  it('are measured from the injection', () => {
    expect(moments(aReport()).map(({ key, after }) => [key, after])).toEqual([
      ['injected', null],
      ['detected', 8],
      ['mitigated', 21],
      ['recovered', 96],
    ]);
  });

  it('tell a mitigation that came too late, or never', () => {
    const late = (mitigatedAt: string | null) =>
      moments(aReport({ mitigatedAt })).find(({ key }) => key === 'mitigated')?.late;
    expect([late(ago(239)), late(ago(199)), late(null)]).toEqual([false, true, true]);
  });

  it('accuse nobody when nothing was injected', () => {
    const none = moments(aReport({ injectedAt: null, mitigatedAt: null }));
    expect(none.some(({ late }) => late)).toBe(false);
  });
});

describe('probeRows', () => {
  it('put the phases of one probe on one row, and leave open what was not asked', () => {
    const rows = probeRows([
      { ...probe, phase: 'before', good: true },
      { ...probe, phase: 'after', good: false },
      { ...probe, name: 'first token', phase: 'during', good: null },
    ]);
    expect(
      rows.map(({ name, cells }) => [name, cells.before?.good, cells.during?.good, cells.after?.good]),
    ).toEqual([
      ['share', true, undefined, false],
      ['first token', undefined, null, undefined],
    ]);
  });
});

describe('probeState', () => {
  it('does not take "could not be told" for good or bad', () =>
    expect([true, false, null].map((good) => probeState({ ...probe, phase: 'after', good }))).toEqual([
      'passed',
      'failed',
      'inconclusive',
    ]));
});
