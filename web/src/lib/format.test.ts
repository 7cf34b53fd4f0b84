import { describe, expect, it } from 'vitest';
import { count, duration, inline, latency, NONE, percent, times } from '@/lib/format';

describe('what is not known', () => {
  it.each([null, undefined, Number.NaN, Number.POSITIVE_INFINITY])('is a dash, not a zero: %s', (value) => {
    expect([count(value), percent(value), latency(value), duration(value)]).toEqual([NONE, NONE, NONE, NONE]);
  });

  it('is told apart from zero', () => {
    expect([count(0), percent(0), latency(0), duration(0)]).toEqual(['0', '0 %', '0.0 ms', '0 ms']);
  });
});

describe('count', () => {
  it.each([
    [57_840.4, '57,840'],
    [99_999, '99,999'],
    [113_040, '113.0k'],
    [1_234_567, '1.23M'],
  ])('%s is %s', (value, shown) => expect(count(value)).toBe(shown));
});

describe('percent', () => {
  it.each([
    [0.5, '50.0 %'],
    [0.9987, '99.87 %'],
    [1, '100 %'],
  ])('%s is %s', (value, shown) => expect(percent(value)).toBe(shown));

  it('never rounds a loss away: 99.999 % is not 100 %', () => {
    expect(percent(0.99999)).toBe('99.99 %');
  });

  it('shows as many digits as it is asked for', () => {
    expect(percent(0.633, 0)).toBe('63 %');
  });
});

describe('latency', () => {
  it.each([
    [0.0312, '31.2 ms'],
    [0.412, '412 ms'],
    [1.244, '1.24 s'],
  ])('%s s is %s', (value, shown) => expect(latency(value)).toBe(shown));
});

describe('duration', () => {
  it.each([
    [0.42, '420 ms'],
    [8.2, '8.2 s'],
    [21.4, '21 s'],
    [59.99, '1 m 00 s'],
    [125, '2 m 05 s'],
    [3600 * 3 + 600, '3 h 10 m'],
    [86_400 * 2 + 3600 * 4, '2 d 4 h'],
    [-21, '-21 s'],
  ])('%s s is %s', (value, shown) => expect(duration(value)).toBe(shown));
});

describe('times', () => {
  it.each([
    [7.2, '7.2×'],
    [14.4, '14.4×'],
    [0.0312, '0.0312×'],
    [1000.04, '1000×'],
    [0, '0×'],
    [null, '—'],
  ])('%s is %s', (value, words) => expect(times(value)).toBe(words));
});

describe('inline', () => {
  it.each([
    [null, NONE],
    [0.069412345, '0.0694'],
    ['zone-b', 'zone-b'],
    [true, 'true'],
    [{ 'zone-a': 100 }, '{"zone-a":100}'],
  ])('%s is %s', (value, shown) => expect(inline(value)).toBe(shown));
});
