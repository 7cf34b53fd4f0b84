import { createBrowserRouter, type RouteObject } from 'react-router';
import { Crash } from '@/components/shell/Crash';
import { NotFound } from '@/components/shell/NotFound';
import { Shell } from '@/components/shell/Shell';
import { Overview } from '@/features/overview/Overview';

/** Pages beyond the first are loaded when they are opened. */
const views: RouteObject[] = [
  { index: true, element: <Overview /> },
  {
    path: 'incidents',
    lazy: async () => ({ Component: (await import('@/features/incidents/Incidents')).Incidents }),
  },
  {
    path: 'incidents/:id',
    lazy: async () => ({ Component: (await import('@/features/incidents/IncidentPage')).IncidentPage }),
  },
  { path: 'runs', lazy: async () => ({ Component: (await import('@/features/runs/Runs')).Runs }) },
  { path: 'runs/:id', lazy: async () => ({ Component: (await import('@/features/runs/RunPage')).RunPage }) },
  { path: 'drills', lazy: async () => ({ Component: (await import('@/features/drills/Drills')).Drills }) },
  {
    path: 'drills/:run',
    lazy: async () => ({ Component: (await import('@/features/drills/ReportPage')).ReportPage }),
  },
  { path: 'slos', lazy: async () => ({ Component: (await import('@/features/slos/Slos')).Slos }) },
  {
    path: 'slos/:name',
    lazy: async () => ({ Component: (await import('@/features/slos/SloPage')).SloPage }),
  },
  {
    path: 'engines',
    lazy: async () => ({ Component: (await import('@/features/engines/Engines')).Engines }),
  },
  { path: 'sign-in', lazy: async () => ({ Component: (await import('@/features/session/SignIn')).SignIn }) },
  { path: '*', element: <NotFound /> },
];

/** A page that breaks is replaced by its error; the shell, with the halt button, stays. */
export const routes: RouteObject[] = [
  {
    path: '/',
    element: <Shell />,
    HydrateFallback: () => null,
    errorElement: <Crash />,
    children: [{ errorElement: <Crash />, children: views }],
  },
];

export const router = createBrowserRouter(routes);
