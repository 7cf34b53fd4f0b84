import { duration, NONE } from '@/lib/format';
import { secondsBetween } from '@/lib/time';
import { useNow } from '@/lib/useNow';

/** How long something took; while it has no end, how long it has taken so far. */
export function Duration({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const now = useNow();
  if (!from) return <span>{NONE}</span>;
  return <span>{duration(Math.max(0, secondsBetween(from, to ?? now)))}</span>;
}
