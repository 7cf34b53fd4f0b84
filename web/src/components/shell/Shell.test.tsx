import { aHalt, anIncident, anOverview, aRunSummary } from '@test/factories';
import { answers, problem, shell, signedIn, url } from '@test/handlers';
import { live, open } from '@test/render';
import { server } from '@test/server';
import { screen, waitFor, within } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { describe, expect, it, vi } from 'vitest';

const home = (overview = anOverview()) => server.use(answers('/overview', overview));

describe('the navigation', () => {
  it('says where one is, and how much is open where', async () => {
    server.use(...shell());
    home(
      anOverview({
        openIncidents: [anIncident(), anIncident({ id: 'inc-2', parent: 'inc-1' })],
        activeRuns: [aRunSummary(), aRunSummary({ id: 'run-2' })],
      }),
    );
    open('/');
    const nav = await screen.findByRole('navigation', { name: 'Main' });
    expect(await within(nav).findByRole('link', { name: 'Incidents 1' })).toBeInTheDocument();
    expect(within(nav).getByRole('link', { name: 'Runs 2' })).toBeInTheDocument();
    expect(within(nav).getByRole('link', { name: 'Overview' })).toHaveAttribute('aria-current', 'page');
  });
});

describe('the live indicator', () => {
  it.each([
    ['live', /^Live\. Pause updates$/],
    ['reconnecting', /^Reconnecting\. Pause updates$/],
    ['stale', /^Stale since \d\d:\d\d:\d\d\. Pause updates$/],
  ] as const)('says %s', async (state, name) => {
    server.use(...shell());
    open('/', { ...live, state });
    expect(await screen.findByRole('button', { name })).toBeInTheDocument();
  });

  it('holds updates back when it is pressed', async () => {
    server.use(...shell());
    const setPaused = vi.fn();
    const { user } = open('/', { ...live, setPaused });
    await user.click(await screen.findByRole('button', { name: /Pause updates/ }));
    expect(setPaused).toHaveBeenCalledWith(true);
  });
});

describe('the banners', () => {
  it('tell of a running drill on another page too, and lead to it', async () => {
    const run = aRunSummary({ id: 'run-d', kind: 'drill', name: 'gray-zone' });
    server.use(...shell(), answers('/incidents', { items: [], total: 0 }));
    home(anOverview({ activeDrill: { run, faults: [] } }));
    open('/incidents');
    const banner = await screen.findByRole('region', { name: 'Drill running' });
    expect(banner).toHaveTextContent('gray-zone');
    expect(within(banner).getByRole('link', { name: 'Follow it' })).toHaveAttribute('href', '/runs/run-d');
  });

  it('tell who halted what and why, and let it be lifted after a question', async () => {
    let lifted = false;
    server.use(...shell(signedIn));
    home(anOverview({ halts: [aHalt()] }));
    server.use(
      http.delete(url('/halts/halt-1'), ({ request }) => {
        lifted = request.headers.get('X-CSRF-Token') === 'csrf-1';
        return HttpResponse.json(aHalt({ liftedAt: '2026-11-30T12:00:00Z' }));
      }),
    );
    const { user } = open('/');
    const banner = await screen.findByRole('region', { name: 'Automation is halted' });
    expect(banner).toHaveTextContent('for chat / zone-c');
    expect(banner).toHaveTextContent('Switch replacement');
    await user.click(within(banner).getByRole('button', { name: 'Lift' }));
    const dialog = await screen.findByRole('dialog', { name: 'Lift the halt' });
    expect(lifted).toBe(false);
    home();
    await user.click(within(dialog).getByRole('button', { name: 'Lift' }));
    await waitFor(() => expect(screen.queryByRole('region', { name: 'Automation is halted' })).toBeNull());
    expect(lifted).toBe(true);
  });

  it('keep the question open when lifting is refused, and say why', async () => {
    server.use(...shell());
    home(anOverview({ halts: [aHalt()] }));
    server.use(
      http.delete(url('/halts/halt-1'), () => problem(401, 'signed_out', 'this needs the admin token')),
    );
    const { user } = open('/');
    await user.click(await screen.findByRole('button', { name: 'Lift' }));
    const dialog = await screen.findByRole('dialog');
    await user.click(within(dialog).getByRole('button', { name: 'Lift' }));
    expect(await within(dialog).findByRole('alert')).toHaveTextContent('this needs the admin token');
  });
});

describe('the halt button', () => {
  it('halts a part of the fleet for a time with a reason', async () => {
    let sent: unknown;
    server.use(...shell(signedIn));
    server.use(
      http.post(url('/halts'), async ({ request }) => {
        sent = await request.json();
        return HttpResponse.json(aHalt(), { status: 201 });
      }),
    );
    const { user } = open('/');
    await user.click(await screen.findByRole('button', { name: 'Halt' }));
    const dialog = await screen.findByRole('dialog', { name: 'Halt automation' });
    const submit = within(dialog).getByRole('button', { name: 'Halt' });
    expect(submit).toBeDisabled();
    await user.click(within(dialog).getByRole('combobox', { name: 'What to halt' }));
    await user.click(await screen.findByRole('option', { name: 'One part of the fleet' }));
    await user.type(within(dialog).getByRole('textbox', { name: 'Target' }), 'chat/local/zone-a');
    await user.type(within(dialog).getByRole('textbox', { name: /^Reason/ }), 'switch work');
    await user.click(submit);
    await waitFor(() =>
      expect(sent).toEqual({ reason: 'switch work', target: 'chat/local/zone-a', for: '1h' }),
    );
    expect(await screen.findByText('Automation is halted')).toBeInTheDocument();
  });

  it('asks to sign in first, and comes back to the same page', async () => {
    server.use(...shell(), answers('/runs', { items: [], total: 0 }));
    const { user } = open('/runs');
    await user.click(await screen.findByRole('button', { name: 'Halt' }));
    const dialog = await screen.findByRole('dialog');
    await user.type(within(dialog).getByRole('textbox', { name: /^Reason/ }), 'switch work');
    expect(within(dialog).getByRole('button', { name: 'Halt' })).toBeDisabled();
    const link = await within(dialog).findByRole('link', { name: 'Sign in to do this.' });
    expect(link).toHaveAttribute('href', '/sign-in?to=%2Fruns');
  });
});
