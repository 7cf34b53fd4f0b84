import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';
import type { DrillReport } from '@/api/types';

export const drillsKey = ['drills'] as const;

export const drillsQuery = () =>
  queryOptions({
    queryKey: [...drillsKey, 'list'],
    queryFn: ({ signal }) => body(api.GET('/api/v1/drills', { params: { query: { limit: 200 } }, signal })),
  });

/** Without `format` the answer is JSON; the schema also lists the renderings, which have no type. */
export const reportQuery = (run: string) =>
  queryOptions({
    queryKey: [...drillsKey, 'report', run],
    queryFn: async ({ signal }) => {
      const path = { run_id: run };
      const answer = await body(api.GET('/api/v1/drills/{run_id}/report', { params: { path }, signal }));
      return answer as DrillReport;
    },
  });

/** Where a report's rendering is downloaded or opened. */
export const reportUrl = (run: string, format: 'html' | 'json' | 'junit') =>
  `/api/v1/drills/${encodeURIComponent(run)}/report?format=${format}`;
