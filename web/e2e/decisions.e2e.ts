/** Runs that wait for people, decided in a real browser; a real engine goes on with them. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { adminToken, launch, required, Visit } from './browser';

const asked = { approve: required('FLEETWARD_E2E_APPROVE'), reject: required('FLEETWARD_E2E_REJECT') };

let browser: Browser;
let visit: Visit;

beforeAll(async () => {
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
});

beforeEach(async () => {
  visit = await Visit.begin(browser);
});

afterEach(async () => {
  await visit.end();
});

/** Signs in on the way to a run, and decides in its dialog. */
async function decide(run: string, verb: 'Approve' | 'Reject', reason: string): Promise<void> {
  const { page } = visit;
  await visit.open(`/sign-in?to=/runs/${run}`, 'Sign in');
  await page.getByLabel('Admin token').fill(adminToken);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await visit.heading('leave-zone');
  const question = page.getByRole('region', { name: 'It waits for a decision' });
  await question.getByRole('button', { name: verb }).click();
  const dialog = page.getByRole('dialog', { name: `${verb} this run` });
  await dialog.getByLabel(/^Reason/).fill(reason);
  await visit.checkAccessibility();
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

describe('a person who is asked', () => {
  it('sees what would be done, approves it, and sees it done', async () => {
    const { page } = visit;
    await visit.open(`/runs/${asked.approve}`, 'leave-zone');
    const preview = page.getByRole('list', { name: 'What it would do' });
    await preview.getByText('weight of chat/local/zone-a: 100 → 0').waitFor();
    await decide(asked.approve, 'Approve', 'the canary is bad');
    await page.getByRole('region', { name: 'Approved' }).getByText('the canary is bad').waitFor();
    await page.getByText('Succeeded').first().waitFor({ timeout: 20_000 });
    await page.getByRole('tab', { name: /^Undo records/ }).click();
    const row = page.getByRole('row').filter({ hasText: 'zone-a' });
    await row.getByText('weight').waitFor();
    expect(visit.complaints).toEqual([]);
  });

  it('rejects it, and nothing is done', async () => {
    const { page } = visit;
    await decide(asked.reject, 'Reject', 'it is the observer');
    await page.getByRole('region', { name: 'Rejected' }).getByText('it is the observer').waitFor();
    await page.getByText('Cancelled').first().waitFor({ timeout: 20_000 });
    await page.getByRole('tab', { name: /^Undo records/ }).click();
    await page.getByText('Nothing to take back').waitFor();
    expect(visit.complaints).toEqual([]);
  });
});
