import { NONE } from '@/lib/format';
import { absolute, relative } from '@/lib/time';
import { useNow } from '@/lib/useNow';

/** An instant, relative for reading; absolute with its zone on hover and for assistive technology. */
export function TimeAgo({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <span>{NONE}</span>;
  return (
    <time dateTime={at} title={absolute(at)}>
      {relative(at, now)}
    </time>
  );
}
