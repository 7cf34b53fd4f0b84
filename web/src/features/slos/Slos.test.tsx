import { anObjective, objectives } from '@test/factories';
import { answers, shell } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

const names = () =>
  screen
    .getAllByRole('row')
    .flatMap((row) => within(row).queryAllByRole('link'))
    .map((link) => link.textContent);

describe('the list', () => {
  it('begins with what is out, then with the least budget', async () => {
    server.use(
      answers(
        '/slos',
        objectives(
          anObjective({ name: 'well', state: 'good', budgetLeft: 0.9 }),
          anObjective({ name: 'nearly-spent', state: 'good', budgetLeft: 0.1 }),
          anObjective({ name: 'not-known', state: 'unknown', budgetLeft: null }),
          anObjective({ name: 'out', state: 'bad' }),
        ),
      ),
      ...shell(),
    );
    open('/slos');
    await screen.findByText('well');
    expect(names()).toEqual(['out', 'not-known', 'nearly-spent', 'well']);
  });

  it('shows those of one state when the link says so, and leads out of a filter that nothing matches', async () => {
    server.use(answers('/slos', objectives(anObjective({ state: 'good' }))), ...shell());
    const { user, router } = open('/slos?state=bad');
    expect(await screen.findByText('No SLO matches')).toBeInTheDocument();
    await user.click(screen.getByRole('button', { name: 'Clear the filter' }));
    expect(await screen.findByRole('link', { name: 'chat-success' })).toBeInTheDocument();
    expect(router.state.location.search).toBe('');
  });

  it('keeps the services apart', async () => {
    const one = objectives(anObjective());
    const other = objectives(anObjective({ name: 'embed-success', service: 'embed' }));
    server.use(answers('/slos', { items: [...one.items, ...other.items] }), ...shell());
    open('/slos');
    const embed = await screen.findByRole('region', { name: 'embed' });
    expect(within(embed).getByRole('link', { name: 'embed-success' })).toBeInTheDocument();
    expect(within(embed).queryByRole('link', { name: 'chat-success' })).toBeNull();
  });

  it('says which tiers fire, on the service or a part of it', async () => {
    server.use(answers('/slos', objectives(anObjective())), ...shell());
    open('/slos');
    expect(await screen.findByRole('cell', { name: 'fast' })).toBeInTheDocument();
  });
});

describe('a budget', () => {
  it('is a meter with its number', async () => {
    server.use(answers('/slos', objectives(anObjective())), ...shell());
    open('/slos');
    const meter = await screen.findByRole('meter', { name: 'Error budget left of chat-success' });
    expect(meter).toHaveAttribute('aria-valuetext', '12.5 %');
  });

  it('that is overspent is a full stop at zero, and its number says how far', async () => {
    server.use(
      answers('/slos/chat-success', anObjective({ budgetLeft: -1.5, timeToExhaustion: 0 })),
      ...shell(),
    );
    open('/slos/chat-success');
    const meter = await screen.findByRole('meter');
    expect(meter).toHaveAttribute('aria-valuenow', '0');
    expect(meter).toHaveAttribute('aria-valuetext', '-150.0 %');
    expect(screen.getByText('spent')).toBeInTheDocument();
  });

  it('that is not known says why instead of a number', async () => {
    server.use(
      answers('/slos/chat-success', anObjective({ budgetLeft: null, timeToExhaustion: null })),
      ...shell(),
    );
    open('/slos/chat-success');
    expect(
      await screen.findByText('The budget is not known: fewer than 10 events were counted.'),
    ).toBeInTheDocument();
    expect(screen.getByRole('meter')).toHaveAttribute('aria-valuetext', 'Unknown');
  });

  it('that outlasts its window says so', async () => {
    server.use(answers('/slos/chat-success', anObjective({ timeToExhaustion: null })), ...shell());
    open('/slos/chat-success');
    expect(await screen.findByText('lasts')).toBeInTheDocument();
  });
});

describe('an objective', () => {
  it('shows what each tier judges, and why it is quiet', async () => {
    server.use(answers('/slos/chat-success', anObjective()), ...shell());
    open('/slos/chat-success');
    const row = (await screen.findByText('page-1h')).closest('tr');
    expect(row).toHaveTextContent('1 h: 20.4× (18.6×)');
    expect(row).toHaveTextContent('5 m: —');
    expect(row).toHaveTextContent('the short window is under its factor');
  });
});
