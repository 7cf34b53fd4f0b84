import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';

export const overviewKey = ['overview'] as const;

export const overviewQuery = () =>
  queryOptions({
    queryKey: overviewKey,
    queryFn: ({ signal }) => body(api.GET('/api/v1/overview', { signal })),
  });
