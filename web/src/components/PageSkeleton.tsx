import { Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import { t } from '@/texts';

/** The page's shape while its first answer is on the way. */
export function PageSkeleton({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="sm" aria-busy="true">
      <VisuallyHidden role="status">{t.loading}</VisuallyHidden>
      <Skeleton height={28} width="30%" />
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike and never move
        <Skeleton key={row} height={38} />
      ))}
    </Stack>
  );
}
