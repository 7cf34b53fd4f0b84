import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';

export const runsKey = ['runs'] as const;

export const runStates = [
  'active',
  'succeeded',
  'failed',
  'inconclusive',
  'cancelled',
  'superseded',
] as const;
export type RunStateFilter = (typeof runStates)[number] | 'all';

export const runKinds = ['playbook', 'drill'] as const;
export type RunKindFilter = (typeof runKinds)[number] | 'all';

export const runsQuery = (state: RunStateFilter, kind: RunKindFilter) =>
  queryOptions({
    queryKey: [...runsKey, 'list', state, kind],
    queryFn: ({ signal }) =>
      body(
        api.GET('/api/v1/runs', {
          params: {
            query: {
              limit: 200,
              ...(state === 'all' ? {} : { state }),
              ...(kind === 'all' ? {} : { kind }),
            },
          },
          signal,
        }),
      ),
  });

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: [...runsKey, 'one', id],
    queryFn: ({ signal }) =>
      body(api.GET('/api/v1/runs/{run_id}', { params: { path: { run_id: id } }, signal })),
  });
