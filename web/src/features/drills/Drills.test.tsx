import { aDrill, ago, aReport } from '@test/factories';
import { answers, shell } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';

const report = (set: Parameters<typeof aReport>[0] = {}) => {
  server.use(answers('/drills/run-d/report', aReport(set)), ...shell());
  open('/drills/run-d');
};

describe('the list', () => {
  it('links a report where there is one, and says so where there is none yet', async () => {
    const running = aDrill({
      id: 'run-e',
      name: 'gray-zone',
      verdict: null,
      state: 'running',
      endedAt: null,
    });
    server.use(answers('/drills', { items: [running, aDrill()], total: 2 }), ...shell());
    open('/drills');
    const link = await screen.findByRole('link', { name: 'zone-outage: report' });
    expect(link).toHaveAttribute('href', '/drills/run-d');
    const row = screen.getByRole('link', { name: 'gray-zone' }).closest('tr') as HTMLElement;
    expect(within(row).getByText('Not judged yet')).toBeInTheDocument();
  });
});

describe('the report', () => {
  it('gives each moment as time after the injection, beside what was allowed', async () => {
    report();
    const mitigated = (await screen.findByText('Mitigated')).closest('li') as HTMLElement;
    expect(mitigated).toHaveTextContent('after 21 s');
    expect(mitigated).toHaveTextContent('1 m 00 s allowed');
  });

  it('says never, not nothing, of what did not come', async () => {
    report({ verdict: 'failed', mitigatedAt: null, recoveredAt: null, detectedAt: null });
    expect(await screen.findAllByText('Never')).toHaveLength(3);
  });

  it('says which baseline the kept tokens are measured against', async () => {
    report();
    expect(await screen.findByText('94.2 %')).toBeInTheDocument();
    expect(screen.getByText(/^Baseline: planned tokens of the same arrivals/)).toBeInTheDocument();
  });

  it('raises what was left behind', async () => {
    report({ leftovers: ['replica-c1-0 out of service'] });
    expect(await screen.findByRole('alert')).toHaveTextContent('replica-c1-0 out of service');
  });

  it('says which playbook fired, and which was expected', async () => {
    report({ playbook: 'replica-restart' });
    expect(await screen.findByRole('link', { name: 'replica-restart' })).toHaveAttribute(
      'href',
      '/runs/run-1',
    );
    expect(screen.getByText('expected zone-failover')).toBeInTheDocument();
  });

  it('shows the playbook that an exercise ran, where a fault would stand', async () => {
    report({
      faults: [],
      playbookRun: null,
      playbook: null,
      exercise: {
        playbook: 'scheduled-restart',
        run: 'run-7',
        target: 'chat/local',
        state: 'succeeded',
        startedAt: '2026-03-01T02:00:00Z',
        endedAt: '2026-03-01T02:03:00Z',
        detail: 'all steps are over',
      },
    });
    expect(await screen.findByRole('link', { name: 'scheduled-restart' })).toHaveAttribute(
      'href',
      '/runs/run-7',
    );
    expect(screen.getByText('3 m 00 s')).toBeInTheDocument();
    expect(screen.queryByText('Injected')).not.toBeInTheDocument();
    expect(screen.queryByRole('heading', { name: 'Faults' })).not.toBeInTheDocument();
  });

  it.each([
    ['Page to print', 'html'],
    ['JSON', 'json'],
    ['JUnit', 'junit'],
  ])('is to be had as %s', async (name, format) => {
    report();
    const link = await screen.findByRole('link', { name });
    expect(link).toHaveAttribute('href', `/api/v1/drills/run-d/report?format=${format}`);
  });

  it('draws the yield with the time that the fault stood', async () => {
    const point = (seconds: number, effectiveShare: number | null) => ({
      at: ago(seconds),
      effectiveShare,
      effectiveTokens: null,
      plannedTokens: null,
    });
    report({ yield: [point(280, 0.99), point(250, 0.62), point(240, null), point(190, 0.98)] });
    const figure = await screen.findByRole('figure');
    expect(figure).toHaveAccessibleName(
      'The share of effective requests over the drill; the lowest was 62 %.',
    );
    expect(figure).toHaveTextContent('Drill zone-outage');
  });
});
