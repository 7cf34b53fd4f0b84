import { anIncident, anIncidentDetail } from '@test/factories';
import { answers, shell, url } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, waitFor, within } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { describe, expect, it } from 'vitest';

describe('the list', () => {
  it('asks for the state that its link names, and puts a new choice into the link', async () => {
    const asked: (string | null)[] = [];
    server.use(
      http.get(url('/incidents'), ({ request }) => {
        asked.push(new URL(request.url).searchParams.get('state'));
        return HttpResponse.json({ items: [anIncident()], total: 1 });
      }),
      ...shell(),
    );
    const { user, router } = open('/incidents?state=firing');
    await screen.findByText('TPOT of zone-b over 50 ms');
    await user.click(screen.getByRole('radio', { name: 'Resolved' }));
    await waitFor(() => expect(asked).toEqual(['firing', 'resolved']));
    expect(router.state.location.search).toBe('?state=resolved');
  });

  it('tells "none matches" from "none yet", and leads out of the filter', async () => {
    server.use(answers('/incidents', { items: [], total: 0 }), ...shell());
    const { user, router } = open('/incidents?state=pending');
    expect(await screen.findByText('No incident matches')).toBeInTheDocument();
    await user.click(screen.getByRole('button', { name: 'Clear the filter' }));
    expect(await screen.findByText('No incident so far')).toBeInTheDocument();
    expect(router.state.location.search).toBe('');
  });

  it('says when there are more than it shows', async () => {
    server.use(answers('/incidents', { items: [anIncident()], total: 431 }), ...shell());
    open('/incidents');
    expect(await screen.findByText('The newest 1 of 431')).toBeInTheDocument();
  });
});

describe('the timeline', () => {
  const entries = () =>
    within(screen.getByRole('tabpanel'))
      .getAllByRole('listitem')
      .map((item) => item.textContent ?? '');

  it('is newest first, and turns round', async () => {
    server.use(answers('/incidents/inc-1', anIncidentDetail()), ...shell());
    const { user, router } = open('/incidents/inc-1');
    await screen.findByText('zone-failover started');
    expect(entries()[0]).toContain('zone-failover started');
    await user.click(screen.getByRole('radio', { name: 'Oldest first' }));
    await waitFor(() => expect(entries()[0]).toContain('Out of its objective'));
    expect(router.state.location.search).toBe('?order=oldest');
  });

  it('shows one kind only when asked', async () => {
    server.use(answers('/incidents/inc-1', anIncidentDetail()), ...shell());
    open('/incidents/inc-1?kind=decision');
    await screen.findByText('zone-failover: run');
    expect(entries()).toHaveLength(1);
  });

  it('leads to the run that it tells of', async () => {
    server.use(answers('/incidents/inc-1', anIncidentDetail()), ...shell());
    open('/incidents/inc-1');
    expect(await screen.findByRole('link', { name: 'zone-failover started' })).toHaveAttribute(
      'href',
      '/runs/run-1',
    );
  });
});
