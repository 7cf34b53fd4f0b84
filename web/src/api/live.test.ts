import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type LiveStatus, LiveStream } from '@/api/live';
import type { ServerEvent } from '@/api/sse';

/** A server whose streams the test feeds and ends by hand. */
class FakeServer {
  readonly asked: (string | null)[] = [];
  down = false;
  private writer: ReadableStreamDefaultController<Uint8Array> | null = null;

  readonly fetch = (_url: string, init: RequestInit) => {
    this.asked.push(new Headers(init.headers).get('Last-Event-ID'));
    if (this.down) return Promise.reject(new TypeError('refused'));
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.writer = controller;
      },
    });
    init.signal?.addEventListener('abort', () => this.fail());
    return Promise.resolve(new Response(body, { status: 200 }));
  };

  send(text: string) {
    this.writer?.enqueue(new TextEncoder().encode(text));
  }

  end() {
    this.writer?.close();
    this.writer = null;
  }

  fail() {
    this.writer?.error(new Error('gone'));
    this.writer = null;
  }
}

describe('LiveStream', () => {
  let server: FakeServer;
  let stream: LiveStream;
  let statuses: LiveStatus[];
  let events: ServerEvent[];
  const state = () => statuses.at(-1)?.state;
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

  beforeEach(async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 30, 12, 0, 0) });
    server = new FakeServer();
    vi.stubGlobal('fetch', server.fetch);
    statuses = [];
    events = [];
    stream = new LiveStream(
      '/api/v1/events',
      (event) => events.push(event),
      (status) => statuses.push(status),
    );
    stream.start();
    await pass(0);
  });

  afterEach(() => {
    stream.close();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  it('is live once the stream is open, and hands on what it hears', async () => {
    expect(state()).toBe('live');
    server.send('id: 5\nevent: run\ndata: {}\n\n');
    await pass(0);
    expect(events).toEqual([{ id: '5', type: 'run', data: '{}' }]);
  });

  it('comes back after a failure where it left off', async () => {
    server.send('id: 5\nevent: run\ndata: {}\n\n');
    await pass(0);
    server.fail();
    await pass(0);
    expect(state()).toBe('reconnecting');
    await pass(2000);
    expect(state()).toBe('live');
    expect(server.asked).toEqual([null, '5']);
  });

  it('keeps its place when an event without an id follows', async () => {
    server.send('id: 5\nevent: run\ndata: {}\n\nevent: tick\ndata: {}\n\n');
    await pass(0);
    server.fail();
    await pass(2000);
    expect(server.asked).toEqual([null, '5']);
  });

  it('opens again at once, without a word, when the server ends the stream on purpose', async () => {
    server.send('event: reconnect\ndata: {}\n\n');
    server.end();
    await pass(1);
    expect(server.asked).toHaveLength(2);
    expect(statuses.every((each) => each.state === 'live')).toBe(true);
  });

  it('is stale since it was last heard, when it stays away', async () => {
    const heard = Date.now();
    server.down = true;
    server.fail();
    await pass(12_000);
    expect(statuses.at(-1)).toEqual({ state: 'stale', since: heard });
    server.down = false;
    await pass(11_000);
    expect(state()).toBe('live');
  });

  it('notices a connection that died without a word', async () => {
    server.send(': still here\n\n');
    await pass(39_000);
    expect(state()).toBe('live');
    server.down = true;
    await pass(3000);
    expect(state()).toBe('stale');
  });

  it('stays live as long as heartbeats come', async () => {
    for (let beat = 0; beat < 8; beat += 1) {
      await pass(15_000);
      server.send(': still here\n\n');
    }
    await pass(0);
    expect(state()).toBe('live');
    expect(server.asked).toHaveLength(1);
  });

  it('asks ever more rarely while the server is down', async () => {
    server.down = true;
    server.fail();
    await pass(60_000);
    const tries = server.asked.length - 1;
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(14);
  });

  it('asks no more once it is closed', async () => {
    stream.close();
    await pass(60_000);
    expect(server.asked).toHaveLength(1);
  });
});
