import { anApproval, aRun, aRunDetail, NOW } from '@test/factories';
import { answers, problem, shell, signedIn, url } from '@test/handlers';
import { open } from '@test/render';
import { server } from '@test/server';
import { screen, within } from '@testing-library/react';
import { HttpResponse, http } from 'msw';
import { describe, expect, it } from 'vitest';
import type { RunDetail } from '@/api/types';
import { offered } from '@/features/runs/offered';

const show = (detail: RunDetail) => {
  server.use(answers('/runs/run-1', detail), ...shell(signedIn));
  return open('/runs/run-1');
};

const undone = (status: 'pending' | 'undone' | 'kept') => {
  const { undo } = aRunDetail();
  return undo.map((each) => ({ ...each, status }));
};

describe('what is offered', () => {
  const run = (set: Parameters<typeof aRun>[0], more: Partial<RunDetail> = {}) =>
    offered(aRunDetail({ run: aRun(set), undo: undone('pending'), ...more }));

  it('of a run under way is to hold it or to end it', () =>
    expect(run({ state: 'running', endedAt: null })).toEqual(['pause', 'cancel']));

  it('of a held run is to let it go on', () =>
    expect(run({ state: 'running', endedAt: null, paused: 'paused by ada' })).toEqual([
      'continue',
      'cancel',
    ]));

  it('of a run that is asked to stop is nothing more', () =>
    expect(run({ state: 'running', endedAt: null, stop: 'cancel' })).toEqual([]));

  it('of a failed run is to do it again, and to take back what still stands', () => {
    expect(run({ state: 'failed', endedAt: NOW })).toEqual(['retry']);
    expect(run({ state: 'failed', endedAt: NOW }, { undo: undone('kept') })).toEqual(['retry', 'undo']);
  });

  it('of a run that succeeded is to take it back, once', () => {
    expect(run({ state: 'succeeded', endedAt: NOW }, { undo: undone('kept') })).toEqual(['undo']);
    expect(run({ state: 'succeeded', endedAt: NOW }, { undo: undone('undone') })).toEqual([]);
  });

  it('of a drill is only to end it', () =>
    expect(run({ kind: 'drill', state: 'running', endedAt: null })).toEqual(['cancel']));

  it('of a run that asks is to decide', () =>
    expect(run({ state: 'queued', endedAt: null }, { approvals: [anApproval()] })).toEqual([
      'approve',
      'reject',
      'pause',
      'cancel',
    ]));
});

describe('a run that waits for a decision', () => {
  const waiting = aRunDetail({ run: aRun({ state: 'queued', endedAt: null }), approvals: [anApproval()] });

  it('shows what it would do, who may decide, and what comes without a decision', async () => {
    show(waiting);
    const plan = await screen.findByRole('list', { name: 'What it would do' });
    expect(plan).toHaveTextContent('weight of chat/local/zone-b: 100 → 0');
    expect(screen.getByText('1 of 3 zones out')).toBeInTheDocument();
    expect(screen.getByText(/May decide: approver, admin\. Without a decision it is rejected/)).toBeVisible();
  });

  it('is approved after a question, with what was said', async () => {
    let sent: unknown;
    const { user } = show(waiting);
    server.use(
      http.post(url('/runs/run-1/approve'), async ({ request }) => {
        sent = await request.json();
        return HttpResponse.json(anApproval({ decision: 'approved' }));
      }),
    );
    await user.click(await screen.findByRole('button', { name: 'Approve' }));
    const dialog = await screen.findByRole('dialog');
    await user.type(within(dialog).getByRole('textbox'), 'go');
    await user.click(within(dialog).getByRole('button', { name: 'Approve' }));
    await expect.poll(() => sent).toEqual({ comment: 'go' });
  });

  it('keeps the question open when the answer is refused, and says why', async () => {
    const { user } = show(waiting);
    server.use(
      http.post(url('/runs/run-1/approve'), () => problem(403, 'not_allowed', 'you started it yourself')),
    );
    await user.click(await screen.findByRole('button', { name: 'Approve' }));
    const dialog = await screen.findByRole('dialog');
    await user.click(within(dialog).getByRole('button', { name: 'Approve' }));
    expect(await within(dialog).findByRole('alert')).toHaveTextContent('you started it yourself');
  });

  it('shows who decided, once somebody has', async () => {
    const decided = anApproval({
      decision: 'rejected',
      decidedBy: 'ada',
      decidedAt: NOW,
      comment: 'not now',
    });
    show({ ...waiting, approvals: [decided] });
    expect(await screen.findByText('Rejected')).toBeInTheDocument();
    expect(screen.getByText(/By ada/)).toHaveTextContent('not now');
    expect(screen.queryByRole('button', { name: 'Approve' })).toBeNull();
  });
});
