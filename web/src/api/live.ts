/**
 * Keeps one event stream per tab alive, and says in what state it is.
 *
 * `live`: the stream is open and was heard within `silence`. `reconnecting`: it broke less than `patience`
 * ago. `stale`: longer than that; what the page shows is as of `since`. It never gives up.
 */
import { readStream, type ServerEvent } from '@/api/sse';

export type LiveStatus = { state: 'live' | 'reconnecting' | 'stale'; since: number };

export type Timing = { silence: number; patience: number; retryMin: number; retryMax: number };

/** Milliseconds. The server beats every 15 s, so 40 s of silence is a dead connection. */
export const timing: Timing = { silence: 40_000, patience: 10_000, retryMin: 500, retryMax: 10_000 };

export class LiveStream {
  private status: LiveStatus = { state: 'reconnecting', since: Date.now() };
  private heardAt = Date.now();
  private lastId: string | null = null;
  private failures = 0;
  private stop = new AbortController();
  private connection: AbortController | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private watch: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly url: string,
    private readonly onEvent: (event: ServerEvent) => void,
    private readonly onStatus: (status: LiveStatus) => void,
    private readonly limits: Timing = timing,
  ) {}

  start() {
    this.stop = new AbortController();
    this.watch = setInterval(() => this.look(), 1000);
    void this.connect();
  }

  close() {
    this.stop.abort();
    this.connection?.abort();
    clearTimeout(this.retry);
    clearInterval(this.watch);
  }

  private async connect() {
    const connection = new AbortController();
    this.connection = connection;
    try {
      await readStream(this.url, this.lastId, connection.signal, {
        onOpen: () => this.opened(),
        onBeat: () => {
          this.heardAt = Date.now();
        },
        onEvent: (event) => this.received(event),
      });
    } catch {
      this.failures += 1;
    }
    if (this.stop.signal.aborted) return;
    this.lost();
    const wait = Math.min(this.limits.retryMin * 2 ** Math.min(this.failures, 8), this.limits.retryMax);
    this.retry = setTimeout(() => void this.connect(), this.failures === 0 ? 0 : wait);
  }

  private opened() {
    this.heardAt = Date.now();
    this.failures = 0;
    this.set('live', Date.now());
  }

  private received(event: ServerEvent) {
    if (event.id !== null) this.lastId = event.id;
    this.onEvent(event);
  }

  private lost() {
    if (this.status.state === 'live' && this.failures > 0) this.set('reconnecting', this.heardAt);
  }

  private look() {
    const quiet = Date.now() - this.heardAt;
    if (this.status.state === 'live' && quiet > this.limits.silence) {
      this.set('reconnecting', this.heardAt);
      this.connection?.abort();
    }
    if (this.status.state === 'reconnecting' && quiet > this.limits.patience) this.set('stale', this.heardAt);
  }

  private set(state: LiveStatus['state'], since: number) {
    this.status = { state, since };
    this.onStatus(this.status);
  }
}
