/**
 * A reader of server-sent events over fetch.
 *
 * Not EventSource: that one hides the HTTP status (a 401 and a dead network look alike) and the heartbeat
 * comments, without which a connection that died silently looks live for ever.
 */

export type ServerEvent = { id: string | null; type: string; data: string };

type Handlers = { onOpen: () => void; onBeat: () => void; onEvent: (event: ServerEvent) => void };

/** Feeds on text in pieces of any size; `push` returns the events completed by the piece. */
export class EventParser {
  private rest = '';
  private id: string | null = null;
  private type = '';
  private data: string[] = [];

  push(piece: string): ServerEvent[] {
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    const events: ServerEvent[] = [];
    for (const line of lines) {
      if (line === '') {
        if (this.data.length > 0) {
          events.push({ id: this.id, type: this.type || 'message', data: this.data.join('\n') });
        }
        this.type = '';
        this.data = [];
        this.id = null;
      } else {
        this.field(line);
      }
    }
    return events;
  }

  private field(line: string) {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.type = value;
    else if (name === 'data') this.data.push(value);
    else if (name === 'id') this.id = value;
  }
}

/** Resolves when the server ends the stream; rejects when it cannot be had or breaks. */
export async function readStream(
  url: string,
  lastId: string | null,
  signal: AbortSignal,
  on: Handlers,
): Promise<void> {
  const headers: Record<string, string> = { Accept: 'text/event-stream' };
  if (lastId !== null) headers['Last-Event-ID'] = lastId;
  const response = await fetch(url, { headers, signal, cache: 'no-store' });
  if (!response.ok || response.body === null) throw new Error(`the event stream answered ${response.status}`);
  on.onOpen();
  const parser = new EventParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    on.onBeat();
    for (const event of parser.push(value)) on.onEvent(event);
  }
}
