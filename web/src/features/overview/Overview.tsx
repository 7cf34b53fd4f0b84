import { Group, Stack, Text } from '@mantine/core';
import { IconAlertTriangle, IconRadar2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { overviewQuery } from '@/api/overview';
import type { Overview as Data } from '@/api/types';
import { EmptyState } from '@/components/EmptyState';
import { Page } from '@/components/Page';
import { StatusBadge } from '@/components/StatusBadge';
import { TimeAgo } from '@/components/TimeAgo';
import { Attention } from '@/features/overview/Attention';
import { HeadlinePanel } from '@/features/overview/HeadlinePanel';
import { oldSince } from '@/features/overview/model';
import { ZoneMap } from '@/features/overview/ZoneMap';
import { duration } from '@/lib/format';
import { useNow } from '@/lib/useNow';
import { t } from '@/texts';
import classes from './Overview.module.css';

/** What needs attention, what the service yields, and where. */
export function Overview() {
  const query = useQuery(overviewQuery());
  const data = query.data;
  return (
    <Page title={t.overview.title} query={query} aside={data && <Aside overview={data} />}>
      {(overview) => (
        <Stack gap="md">
          <OldNote overview={overview} />
          <Attention overview={overview} />
          {overview.tickAt === null ? (
            <EmptyState icon={IconRadar2} title={t.overview.noFleetTitle} text={t.overview.noFleet} />
          ) : (
            <>
              <HeadlinePanel overview={overview} />
              <ZoneMap overview={overview} />
            </>
          )}
        </Stack>
      )}
    </Page>
  );
}

function Aside({ overview }: { overview: Data }) {
  return (
    <Group gap="sm" className={classes.aside ?? ''}>
      <span className={classes.dim}>{t.overview.environment(overview.environment)}</span>
      <span>
        <span className={classes.dim}>{t.overview.mode}</span> <StatusBadge state={overview.mode} />
      </span>
      {overview.tickAt !== null && (
        <span className={classes.dim}>
          {t.overview.tick} <TimeAgo at={overview.evaluatedAt} />
        </span>
      )}
    </Group>
  );
}

function OldNote({ overview }: { overview: Data }) {
  const age = oldSince(overview, useNow());
  if (age === null) return null;
  return (
    <div className={classes.old} role="status">
      <IconAlertTriangle size={16} aria-hidden />
      <Text size="sm">{t.overview.oldTick(duration(age))}</Text>
    </div>
  );
}
