import { describe, expect, it } from 'vitest';
import { affected } from '@/api/affected';

const event = (type: string) => ({ id: '1', type, data: '{"id":1,"type":"x","ref":"r"}' });
const first = (type: string) => affected(event(type)).map((key) => key[0]);

describe('affected', () => {
  it('a tick concerns what is read from the fleet', () =>
    expect(first('tick')).toEqual(['overview', 'slos']));

  it('a run concerns every page that shows runs', () =>
    expect(first('run').toSorted()).toEqual(['drills', 'incidents', 'overview', 'runs']));

  it('a halt concerns the overview, from which the banner comes', () =>
    expect(first('halt')).toEqual(['overview']));

  it('a reconnect concerns nothing', () => expect(affected(event('reconnect'))).toEqual([]));

  it.each(['reset', 'something.new'])('%s concerns everything', (type) =>
    expect(affected(event(type))).toEqual([[]]),
  );
});
