import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { affected } from '@/api/affected';
import { type LiveStatus, LiveStream } from '@/api/live';

type Live = LiveStatus & { paused: boolean; setPaused: (paused: boolean) => void };

const LiveContext = createContext<Live>({
  state: 'live',
  since: 0,
  paused: false,
  setPaused: () => undefined,
});

export const useLive = () => useContext(LiveContext);

const EVENTS = '/api/v1/events';
/** While the stream is down the page asks by itself; rarely, since the API may be what is in trouble. */
const FALLBACK_POLL = 30_000;
/** A burst of events becomes one refetch. */
const BATCH = 500;

/** The tab's one stream: events make the queries they touch refetch, at most once per batch. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [status, setStatus] = useState<LiveStatus>(() => ({ state: 'reconnecting', since: Date.now() }));
  const [paused, setPaused] = useState(false);
  const pausedNow = useRef(paused);
  const due = useRef(new Map<string, readonly unknown[]>());
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  pausedNow.current = paused;

  useEffect(() => {
    const flush = () => {
      timer.current = undefined;
      if (pausedNow.current) return;
      const keys = [...due.current.values()];
      due.current.clear();
      for (const queryKey of keys) void client.invalidateQueries({ queryKey });
    };
    const stream = new LiveStream(
      EVENTS,
      (event) => {
        for (const key of affected(event)) due.current.set(JSON.stringify(key), key);
        timer.current ??= setTimeout(flush, event.type === 'tick' ? 0 : BATCH);
      },
      setStatus,
    );
    stream.start();
    return () => {
      stream.close();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [client]);

  useEffect(() => {
    if (paused) return;
    if (due.current.size > 0) {
      due.current.clear();
      void client.invalidateQueries();
    }
  }, [paused, client]);

  useEffect(() => {
    if (status.state === 'live' || paused) return;
    const poll = setInterval(() => void client.invalidateQueries(), FALLBACK_POLL);
    return () => clearInterval(poll);
  }, [status.state, paused, client]);

  const value = useMemo(() => ({ ...status, paused, setPaused }), [status, paused]);
  return <LiveContext.Provider value={value}>{children}</LiveContext.Provider>;
}

/** For tests and stories: a stream in a state of one's choosing. */
export const LiveState = LiveContext.Provider;
