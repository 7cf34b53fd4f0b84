import { queryOptions } from '@tanstack/react-query';
import { api, body, setCsrfToken } from '@/api/client';
import type { Session } from '@/api/types';

export const sessionKey = ['session'] as const;

/** A session's proof for writes travels with the session itself, so it is kept wherever one arrives. */
function keep(session: Session): Session {
  setCsrfToken(session.csrfToken);
  return session;
}

export const sessionQuery = () =>
  queryOptions({
    queryKey: sessionKey,
    queryFn: async ({ signal }) => keep(await body(api.GET('/api/v1/auth/me', { signal }))),
    staleTime: 5 * 60_000,
  });

export const exchange = async (token: string) =>
  keep(await body(api.POST('/api/v1/auth/exchange', { body: { token } })));

export const signOut = async () => keep(await body(api.POST('/api/v1/auth/logout')));
