import { Stack, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { ErrorState } from '@/components/ErrorState';
import { PageSkeleton } from '@/components/PageSkeleton';
import { StaleNote } from '@/components/StaleNote';
import { t } from '@/texts';
import classes from './Page.module.css';

type Props<T> = {
  title: ReactNode;
  /** For the browser's tab; the title where that is text. */
  name?: string;
  aside?: ReactNode;
  above?: ReactNode;
  query: UseQueryResult<T>;
  children: (data: T) => ReactNode;
};

/**
 * The frame of every page: title, then loading, error or the content, with the note when it is stale.
 * An error after a first success keeps the last content and shows the error above it.
 */
export function Page<T>({ title, name, aside, above, query, children }: Props<T>) {
  const tab = name ?? (typeof title === 'string' ? title : t.product);
  useEffect(() => {
    document.title = `${tab} · ${t.product}`;
  }, [tab]);
  return (
    <Stack gap="md">
      <header className={classes.header}>
        <div>
          {above}
          <Title order={1}>{title}</Title>
        </div>
        {aside}
      </header>
      <StaleNote />
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <PageSkeleton />}
      {query.data !== undefined && children(query.data)}
    </Stack>
  );
}
