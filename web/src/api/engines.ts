import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';

/** What profiles say changes with the release of Fleetward only: asked once a visit. */
export const enginesQuery = () =>
  queryOptions({
    queryKey: ['engines'],
    queryFn: ({ signal }) => body(api.GET('/api/v1/engines', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
