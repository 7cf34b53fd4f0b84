import { useSyncExternalStore } from 'react';

/**
 * One timer for all relative times of the page: a hundred cells ticking apart would be a hundred timers and
 * would disagree by up to a second with one another.
 */
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The present in milliseconds, to the second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => {
    if (timer === undefined) now = Date.now();
    return Math.floor(now / 1000) * 1000;
  });
}
