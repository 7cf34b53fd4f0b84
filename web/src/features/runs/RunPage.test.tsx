import { aDecision, ago, aRun, aRunDetail, aStep, NOW } from '@test/factories';
import { answers, shell } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { RunDetail } from '@/api/types';

const show = (detail: RunDetail, search = '') => {
  server.use(answers('/runs/run-1', detail), ...shell());
  return open(`/runs/run-1${search}`);
};

describe('a run', () => {
  it('opens on the tab that its link names, and keeps the tab in its link', async () => {
    const { user, router } = show(aRunDetail(), '?tab=undo');
    expect(await screen.findByRole('tab', { name: 'Undo records (1)' })).toHaveAttribute(
      'aria-selected',
      'true',
    );
    await user.click(screen.getByRole('tab', { name: /^Journal/ }));
    await waitFor(() => expect(router.state.location.search).toBe('?tab=journal'));
    await user.click(screen.getByRole('tab', { name: /^Steps/ }));
    await waitFor(() => expect(router.state.location.search).toBe(''));
  });

  it('falls back to the steps for a tab that does not exist', async () => {
    show(aRunDetail(), '?tab=nonsense');
    expect(await screen.findByRole('tab', { name: 'Steps (1)' })).toHaveAttribute('aria-selected', 'true');
  });

  it('says what it waits for, and since when a step is held back', async () => {
    const step = aStep({ state: 'pending', startedAt: null, endedAt: null, blockedAt: ago(30) });
    show(aRunDetail({ run: aRun({ waiting: 'a halt in zone-b' }), steps: [step] }));
    expect(await screen.findByText('a halt in zone-b')).toBeInTheDocument();
    expect(screen.getByText(/^Held back since/)).toBeInTheDocument();
  });

  it('shows what a step was given, what came out, and why it failed', async () => {
    const step = aStep({
      state: 'failed',
      parameters: { weight: 0 },
      outputs: { from: 100 },
      error: 'version 9 stands',
    });
    show(aRunDetail({ steps: [step] }));
    expect(await screen.findByText('Error: version 9 stands')).toBeInTheDocument();
    expect(screen.getByText('weight').nextSibling).toHaveTextContent('0');
    expect(screen.getByText('from').nextSibling).toHaveTextContent('100');
  });

  it('shows a change that somebody else made since as theirs, with what stood before', async () => {
    const [record] = aRunDetail().undo;
    show(
      aRunDetail({ undo: record ? [{ ...record, status: 'foreign', detail: 'stands at 60' }] : [] }),
      '?tab=undo',
    );
    const row = (await screen.findByText('Changed by someone else')).closest('tr') as HTMLElement;
    expect(row).toHaveTextContent('stands at 60');
    expect(within(row).getByText('100')).toBeInTheDocument();
  });

  it('shows every guard with the values it judged on', async () => {
    show(aRunDetail(), '?tab=why');
    const row = (await screen.findByText('the rest carries it')).closest('tr') as HTMLElement;
    expect(row).toHaveTextContent('Allowed');
    expect(row).toHaveTextContent('capacity');
    expect(row).toHaveTextContent('ratio1.21');
  });

  it('says so when no decision started it', async () => {
    show(aRunDetail({ decision: null }), '?tab=why');
    expect(await screen.findByText('This run was not started by a decision')).toBeInTheDocument();
  });

  it('counts repeated decisions', async () => {
    show(aRunDetail({ decision: aDecision({ count: 10, lastAt: NOW }) }), '?tab=why');
    expect(await screen.findByText(/10 times, last/)).toBeInTheDocument();
  });

  it('offers the report once a drill has ended, and its faults always', async () => {
    show(aRunDetail({ run: aRun({ kind: 'drill', endedAt: NOW, state: 'succeeded' }) }));
    expect(await screen.findByRole('link', { name: 'Drill report' })).toHaveAttribute(
      'href',
      '/drills/run-1',
    );
    expect(screen.getByRole('tab', { name: 'Faults (0)' })).toBeInTheDocument();
  });
});

describe('the journal', () => {
  it('is searched, with the search in the link, and says when nothing matches', async () => {
    const { user, router } = show(aRunDetail(), '?tab=journal');
    const search = await screen.findByRole('textbox', { name: 'Search' });
    await user.type(search, 'weight');
    await waitFor(() => expect(router.state.location.search).toBe('?tab=journal&q=weight'));
    expect(screen.getByText('weight is 0')).toBeInTheDocument();
    expect(screen.queryByText('began')).toBeNull();
    await user.type(search, ' of the moon');
    await user.click(await screen.findByRole('button', { name: 'Clear the filter' }));
    expect(await screen.findByText('began')).toBeInTheDocument();
  });

  it('can be taken along whole', async () => {
    show(aRunDetail(), '?tab=journal');
    const link = await screen.findByRole('link', { name: 'Save as JSON' });
    const [, data = ''] = (link.getAttribute('href') ?? '').split(',');
    expect(JSON.parse(decodeURIComponent(data))).toHaveLength(2);
    expect(link).toHaveAttribute('download', 'run-1-journal.json');
  });
});
