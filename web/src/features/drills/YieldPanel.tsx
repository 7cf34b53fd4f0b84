import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { DrillReport } from '@/api/types';
import { Panel } from '@/components/Panel';
import { percent } from '@/lib/format';
import { t } from '@/texts';

const Chart = lazy(async () => ({ default: (await import('@/components/chart/Chart')).Chart }));

const words = t.drills.report;
const seconds = (at: string) => Date.parse(at) / 1000;

/** The clients' own record of the drill as a picture, with the time the fault stood shaded. */
export function YieldPanel({ report }: { report: DrillReport }) {
  const points = report.yield;
  if (points.length < 2) return null;
  const values = points.map((point) => point.effectiveShare);
  const known = values.filter((value) => value !== null);
  const cleared = report.faults.map((fault) => fault.clearedAt).filter((at) => at !== null);
  const bands = report.injectedAt
    ? [
        {
          from: seconds(report.injectedAt),
          to: cleared.length > 0 ? Math.max(...cleared.map(seconds)) : null,
          label: t.overview.headline.drill(report.drill),
        },
      ]
    : [];
  return (
    <Panel title={words.yield}>
      <Suspense fallback={<Skeleton height={176} />}>
        <Chart
          times={points.map((point) => seconds(point.at))}
          series={[
            { label: words.share, values, tone: 'accent', area: true, format: (value) => percent(value, 0) },
          ]}
          bands={bands}
          summary={words.yieldSummary(percent(known.length > 0 ? Math.min(...known) : null, 0))}
        />
      </Suspense>
    </Panel>
  );
}
