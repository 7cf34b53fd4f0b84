import { describe, expect, it } from 'vitest';
import { EventParser } from '@/api/sse';

const wire = [
  'retry: 1000\n\n',
  ': still here\n\n',
  'id: 7\nevent: run\ndata: {"id":7,"type":"run","ref":"run-1"}\n\n',
  'event: tick\ndata: {"ref":"overview"}\n\n',
  'data: two\r\ndata: lines\r\n\r\n',
].join('');

const expected = [
  { id: '7', type: 'run', data: '{"id":7,"type":"run","ref":"run-1"}' },
  { id: null, type: 'tick', data: '{"ref":"overview"}' },
  { id: null, type: 'message', data: 'two\nlines' },
];

describe('EventParser', () => {
  it('reads events, and passes over comments and fields that it does not know', () => {
    expect(new EventParser().push(wire)).toEqual(expected);
  });

  it('gives the same events wherever the text is cut', () => {
    for (let cut = 0; cut <= wire.length; cut += 1) {
      const parser = new EventParser();
      expect([...parser.push(wire.slice(0, cut)), ...parser.push(wire.slice(cut))]).toEqual(expected);
    }
  });

  it('gives the same events character by character', () => {
    const parser = new EventParser();
    expect([...wire].flatMap((character) => parser.push(character))).toEqual(expected);
  });

  it('keeps an event that is not ended', () => {
    const parser = new EventParser();
    expect(parser.push('id: 1\ndata: x\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ id: '1', type: 'message', data: 'x' }]);
  });
});
