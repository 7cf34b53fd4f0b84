import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { ReactNode } from 'react';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { LiveState } from '@/api/LiveProvider';
import { routes } from '@/router';
import { cssVariables, theme } from '@/theme';

type Live = Parameters<typeof LiveState>[0]['value'];

export const live: Live = { state: 'live', since: 0, paused: false, setPaused: () => undefined };

type Props = { children: ReactNode; client: QueryClient; state?: Live };

/** The providers of the app, with a stream in a state of one's choosing. */
export function Providers({ children, client, state = live }: Props) {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} env="test">
      <Notifications />
      <QueryClientProvider client={client}>
        <LiveState value={state}>{children}</LiveState>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/** Opens the console at a path: the whole of it, shell and all. */
export function open(path: string, state: Live = live) {
  const router = createMemoryRouter(routes, { initialEntries: [path] });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 30_000 } } });
  const view = render(
    <Providers client={client} state={state}>
      <RouterProvider router={router} />
    </Providers>,
  );
  return { ...view, client, router, user: userEvent.setup() };
}
