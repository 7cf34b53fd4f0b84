import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';

export const drillsKey = ['drills'] as const;

export const drillsQuery = () =>
  queryOptions({
    queryKey: [...drillsKey, 'list'],
    queryFn: ({ signal }) => body(api.GET('/api/v1/drills', { params: { query: { limit: 200 } }, signal })),
  });

export const reportQuery = (run: string) =>
  queryOptions({
    queryKey: [...drillsKey, 'report', run],
    queryFn: ({ signal }) =>
      body(api.GET('/api/v1/drills/{run_id}/report', { params: { path: { run_id: run } }, signal })),
  });

/** Where a report's rendering is downloaded or opened. */
export const reportUrl = (run: string, format: 'html' | 'json' | 'junit') =>
  `/api/v1/drills/${encodeURIComponent(run)}/report?format=${format}`;
