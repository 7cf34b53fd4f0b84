import { describe, expect, it } from 'vitest';
import { relative, secondsBetween } from '@/lib/time';

const at = '2026-11-30T12:00:00Z';
const now = Date.parse(at);

describe('relative', () => {
  it.each([
    [0, 'just now'],
    [42, '42 s ago'],
    [125, '2 m 05 s ago'],
    [-300, 'in 5 m 00 s'],
  ])('%s s after is %s', (seconds, shown) => expect(relative(at, now + seconds * 1000)).toBe(shown));
});

describe('secondsBetween', () => {
  it('measures between two texts, and from a text to a moment', () => {
    expect(secondsBetween(at, '2026-11-30T12:00:21.400Z')).toBe(21.4);
    expect(secondsBetween(at, now + 1500)).toBe(1.5);
  });
});
