/** Instants as words: relative for reading, absolute (with the zone) for evidence. Instants are ISO 8601 strings. */
import { duration } from '@/lib/format';
import { language, t } from '@/texts';

const clock = new Intl.DateTimeFormat(language, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const full = new Intl.DateTimeFormat(language, {
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
  timeZoneName: 'short',
});

/** 12:04:31, in the operator's own zone. */
export const clockTime = (at: string | number | Date) => clock.format(new Date(at));

/** 30 Nov 2026, 12:04:31 UTC, in the operator's own zone. */
export const absolute = (at: string | number | Date) => full.format(new Date(at));

/** Seconds from `from` to `to`. */
export const secondsBetween = (from: string, to: string | number) =>
  ((typeof to === 'number' ? to : Date.parse(to)) - Date.parse(from)) / 1000;

/** "just now", "42 s ago", "in 5 m 00 s", measured at `now` (milliseconds). */
export function relative(at: string, now: number): string {
  const seconds = Math.round((now - Date.parse(at)) / 1000);
  if (Math.abs(seconds) < 2) return t.time.now;
  if (seconds < 0) return t.time.in(duration(-seconds));
  return t.time.ago(duration(seconds));
}
