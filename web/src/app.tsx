import '@fontsource-variable/inter';
import '@fontsource-variable/jetbrains-mono';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@/global.css';
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from 'react-router/dom';
import { ApiError } from '@/api/client';
import { LiveProvider } from '@/api/LiveProvider';
import { router } from '@/router';
import { cssVariables, theme } from '@/theme';

const schemes = localStorageColorSchemeManager({ key: 'fleetward-color-scheme' });

/** Freshness comes from the event stream, so nothing refetches merely because a window was focused. */
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.retryable,
    },
  },
});

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={schemes}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={client}>
        <LiveProvider>
          <RouterProvider router={router} />
        </LiveProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}
