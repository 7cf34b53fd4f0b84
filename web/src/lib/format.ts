/**
 * Numbers as an operator reads them. A value that is not known is an em dash, never a zero: zero is a
 * measurement. Units: seconds, ratios 0..1, tokens.
 */
import { language } from '@/texts';

export const NONE = '—';

type Maybe = number | null | undefined;

const known = (value: Maybe): value is number =>
  value !== null && value !== undefined && Number.isFinite(value);

const plain = (digits: number) =>
  new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });

const whole = plain(0);
const one = plain(1);
const two = plain(2);

/** 53,412 or 53.4k above a hundred thousand, so that tiles keep their width. */
export function count(value: Maybe): string {
  if (!known(value)) return NONE;
  if (Math.abs(value) >= 1e6) return `${two.format(value / 1e6)}M`;
  if (Math.abs(value) >= 1e5) return `${one.format(value / 1e3)}k`;
  return whole.format(Math.round(value));
}

/** A ratio as a per cent. Near one it keeps the digits that matter: 99.95 %, but never rounds up to 100 %. */
export function percent(ratio: Maybe, digits?: number): string {
  if (!known(ratio)) return NONE;
  const value = ratio * 100;
  if (digits !== undefined) return `${plain(digits).format(value)} %`;
  if (value === 0 || value === 100) return `${whole.format(value)} %`;
  if (value > 99) return `${two.format(Math.min(Math.floor(value * 100) / 100, 99.99))} %`;
  return `${one.format(value)} %`;
}

/** A rate as a multiple: 7.2×, 0.03×, 14.4×. */
export function times(value: Maybe): string {
  return known(value) ? `${Number(value.toPrecision(3))}×` : NONE;
}

/** A latency: 38 ms, 420 ms, 1.24 s. */
export function latency(seconds: Maybe): string {
  if (!known(seconds)) return NONE;
  if (seconds < 0.0995) return `${one.format(seconds * 1000)} ms`;
  if (seconds < 0.9995) return `${whole.format(seconds * 1000)} ms`;
  return `${two.format(seconds)} s`;
}

/** How long something took or will take: 420 ms, 8.4 s, 2 m 05 s, 3 h 10 m, 2 d 4 h. */
export function duration(seconds: Maybe): string {
  if (!known(seconds)) return NONE;
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds < 10 ? one.format(seconds) : whole.format(seconds)} s`;
  const total = Math.round(seconds);
  const [days, hours] = [Math.floor(total / 86_400), Math.floor((total % 86_400) / 3600)];
  const [minutes, rest] = [Math.floor((total % 3600) / 60), total % 60];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} m`;
  return `${minutes} m ${String(rest).padStart(2, '0')} s`;
}

/** Any JSON value of an output or a reading on one line; objects keep their keys. */
export function inline(value: unknown): string {
  if (value === null || value === undefined) return NONE;
  if (typeof value === 'number') return String(Math.round(value * 10_000) / 10_000);
  if (typeof value === 'string') return value;
  return JSON.stringify(value);
}
