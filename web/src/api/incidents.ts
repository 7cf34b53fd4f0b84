import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';

export const incidentsKey = ['incidents'] as const;

export const incidentStates = ['open', 'pending', 'firing', 'mitigated', 'resolved', 'unknown'] as const;
export type IncidentStateFilter = (typeof incidentStates)[number] | 'all';

export const incidentsQuery = (state: IncidentStateFilter) =>
  queryOptions({
    queryKey: [...incidentsKey, 'list', state],
    queryFn: ({ signal }) =>
      body(
        api.GET('/api/v1/incidents', {
          params: { query: { limit: 200, ...(state === 'all' ? {} : { state }) } },
          signal,
        }),
      ),
  });

export const incidentQuery = (id: string) =>
  queryOptions({
    queryKey: [...incidentsKey, 'one', id],
    queryFn: ({ signal }) =>
      body(api.GET('/api/v1/incidents/{incident_id}', { params: { path: { incident_id: id } }, signal })),
  });
