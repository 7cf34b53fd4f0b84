/**
 * Every page in its five states: loading, empty, error (with a way to try again), stale, full. A page is a row
 * of the table below; what is special about one is tested beside it.
 */
import { screen, waitFor, within } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { describe, expect, it } from 'vitest';
import {
  aDrill,
  aMatrix,
  anIncident,
  anIncidentDetail,
  anObjective,
  anOverview,
  aReport,
  aRunDetail,
  aRunSummary,
  objectives,
} from './factories';
import { answers, fails, never, shell, url } from './handlers';
import { live, open } from './render';
import { server } from './server';

type PageCase = {
  name: string;
  /** The console's path. */
  at: string;
  /** The API path that the page shows. */
  path: string;
  full: unknown;
  fullText: string | RegExp;
  empty: unknown;
  emptyText: string | RegExp;
};

const pages: PageCase[] = [
  {
    name: 'Overview',
    at: '/',
    path: '/overview',
    full: anOverview(),
    fullText: '57,840',
    empty: anOverview({ tickAt: null, evaluatedAt: null, zones: [], sources: [] }),
    emptyText: 'No readings yet',
  },
  {
    name: 'Incidents',
    at: '/incidents',
    path: '/incidents',
    full: { items: [anIncident()], total: 1 },
    fullText: 'TPOT of zone-b over 50 ms',
    empty: { items: [], total: 0 },
    emptyText: 'No incident so far',
  },
  {
    name: 'Incident',
    at: '/incidents/inc-1',
    path: '/incidents/inc-1',
    full: anIncidentDetail(),
    fullText: 'zone-failover started',
    empty: anIncidentDetail({ timeline: [], decisions: [], runs: [] }),
    emptyText: 'Nothing has happened yet',
  },
  {
    name: 'Runs',
    at: '/runs',
    path: '/runs',
    full: { items: [aRunSummary()], total: 1 },
    fullText: 'zone-failover',
    empty: { items: [], total: 0 },
    emptyText: 'No run so far',
  },
  {
    name: 'Run',
    at: '/runs/run-1',
    path: '/runs/run-1',
    full: aRunDetail(),
    fullText: 'traffic.shift',
    empty: aRunDetail({ steps: [] }),
    emptyText: 'This run has no steps yet',
  },
  {
    name: 'Drills',
    at: '/drills',
    path: '/drills',
    full: { items: [aDrill()], total: 1 },
    fullText: 'zone-outage',
    empty: { items: [], total: 0 },
    emptyText: 'No drill has run yet',
  },
  {
    name: 'Drill report',
    at: '/drills/run-d',
    path: '/drills/run-d/report',
    full: aReport(),
    fullText: '94.2 %',
    empty: aReport({ probes: [], faults: [] }),
    emptyText: 'No probe was judged',
  },
  {
    name: 'SLOs',
    at: '/slos',
    path: '/slos',
    full: objectives(anObjective()),
    fullText: '12.5 %',
    empty: objectives(),
    emptyText: 'No objective is watched',
  },
  {
    name: 'SLO',
    at: '/slos/chat-success',
    path: '/slos/chat-success',
    full: anObjective(),
    fullText: '75 bad of 100.0k events',
    empty: anObjective({ tiers: [], places: [] }),
    emptyText: 'This SLO has no burn-rate tier',
  },
  {
    name: 'Indicators',
    at: '/engines',
    path: '/engines',
    full: aMatrix(),
    fullText: 'vllm:request_time_per_output_token_seconds',
    empty: { indicators: [], engines: [] },
    emptyText: 'No engine is known',
  },
];

/** The page inside its shell, once the shell stands. */
const page = async () => within(await screen.findByTestId('content'));

describe.each(pages)('$name', ({ at, path, full, fullText, empty, emptyText }) => {
  it('shows its shape while it loads', async () => {
    server.use(never(path), ...shell());
    open(at);
    expect(await (await page()).findByRole('status')).toHaveTextContent('Loading');
  });

  it('says that there is nothing yet', async () => {
    server.use(answers(path, empty), ...shell());
    open(at);
    expect(await screen.findByText(emptyText)).toBeInTheDocument();
  });

  it('says what failed, and tries again when asked', async () => {
    server.use(fails(path), ...shell());
    const { user } = open(at);
    const content = await page();
    const alert = await content.findByRole('alert');
    expect(alert).toHaveTextContent('the database does not answer');
    server.use(answers(path, full));
    await user.click(within(alert).getByRole('button', { name: 'Try again' }));
    expect((await content.findAllByText(fullText)).length).toBeGreaterThan(0);
    await waitFor(() => expect(content.queryByRole('alert')).toBeNull());
  });

  it('says that it may be old while the stream is down', async () => {
    server.use(answers(path, full), ...shell());
    open(at, { ...live, state: 'stale', since: Date.UTC(2026, 10, 30, 12, 4, 31) });
    const content = await page();
    expect(await screen.findByText(/The event stream is down: this is as of/)).toBeInTheDocument();
    expect((await content.findAllByText(fullText)).length).toBeGreaterThan(0);
  });

  it('shows what there is, and names itself in the tab', async () => {
    server.use(answers(path, full), ...shell());
    open(at);
    const content = await page();
    expect((await content.findAllByText(fullText)).length).toBeGreaterThan(0);
    expect(document.title).toMatch(/ · Fleetward$/);
    expect(screen.queryByText(/The event stream is down/)).toBeNull();
  });

  it('keeps what it has when a later answer fails', async () => {
    let asked = 0;
    server.use(
      http.get(url(path), () => {
        asked += 1;
        return asked === 1 ? HttpResponse.json(full as never) : HttpResponse.error();
      }),
      ...shell(),
    );
    const { client } = open(at);
    const content = await page();
    expect((await content.findAllByText(fullText)).length).toBeGreaterThan(0);
    await client.invalidateQueries();
    expect(await content.findByRole('alert')).toHaveTextContent('The API cannot be reached.');
    expect(content.getAllByText(fullText).length).toBeGreaterThan(0);
  });
});

describe('Not found', () => {
  it('names the path and leads home', async () => {
    server.use(...shell());
    const { user, router } = open('/nowhere/at/all');
    expect(await screen.findByText('There is no page at /nowhere/at/all.')).toBeInTheDocument();
    await user.click(screen.getByRole('link', { name: 'Go to the overview' }));
    await waitFor(() => expect(router.state.location.pathname).toBe('/'));
  });

  it('is told apart from a failure: a run that does not exist', async () => {
    server.use(
      http.get(url('/runs/none'), () =>
        HttpResponse.json(
          { title: 'Not Found', status: 404, detail: 'no run `none`', code: 'not_found', hint: null },
          { status: 404, headers: { 'content-type': 'application/problem+json' } },
        ),
      ),
      ...shell(),
    );
    open('/runs/none');
    expect(await screen.findByText('This does not exist')).toBeInTheDocument();
    expect(screen.getByText('no run `none`')).toBeInTheDocument();
  });
});
