import { queryOptions } from '@tanstack/react-query';
import { api, body } from '@/api/client';

export const slosKey = ['slos'] as const;

export const slosQuery = () =>
  queryOptions({
    queryKey: [...slosKey, 'list'],
    queryFn: ({ signal }) => body(api.GET('/api/v1/slos', { signal })),
  });

export const sloQuery = (name: string) =>
  queryOptions({
    queryKey: [...slosKey, 'one', name],
    queryFn: ({ signal }) => body(api.GET('/api/v1/slos/{name}', { params: { path: { name } }, signal })),
  });
