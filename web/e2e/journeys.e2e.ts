/** What an operator does, in a real browser against the real API. */
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { address, adminToken, launch, loginToken, Visit } from './browser';

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

describe('an operator', () => {
  it('sees at once what needs attention, and follows it to the cause', async () => {
    const { page } = visit;
    await visit.open('/', 'Overview');
    await page.getByRole('link', { name: /Mitigated.*TPOT of zone-b/ }).click();
    await visit.heading('TPOT of zone-b');
    await page.getByRole('link', { name: 'zone-failover started' }).click();
    await visit.heading('zone-failover');
    await page.getByRole('tab', { name: 'Why it started' }).click();
    await page.getByText('the rest carries 1.21 times the load').waitFor();
    expect(new URL(page.url()).search).toBe('?tab=why');
    await page.reload();
    await page.getByText('the rest carries 1.21 times the load').waitFor();
  });

  it('sees the fleet change without touching anything', async () => {
    const { page } = visit;
    await visit.open('/', 'Overview');
    await page.getByRole('button', { name: /^Live\./ }).waitFor();
    const figure = page.getByText(/^5\d,\d{3}$/).first();
    const before = await figure.textContent();
    await page.waitForFunction((old) => !document.body.textContent?.includes(String(old)), before, {
      timeout: 15_000,
    });
  });

  it('holds the page still, and lets it go on', async () => {
    const { page } = visit;
    await visit.open('/', 'Overview');
    await page.getByRole('button', { name: 'Live. Pause updates' }).click();
    await page.getByRole('button', { name: 'Paused. Resume updates' }).waitFor();
    await page.waitForTimeout(1000);
    const figure = page.getByText(/^5\d,\d{3}$/).first();
    const before = await figure.textContent();
    await page.waitForTimeout(5000);
    expect(await figure.textContent()).toBe(before);
    await page.getByRole('button', { name: 'Paused. Resume updates' }).click();
    await page.waitForFunction((old) => !document.body.textContent?.includes(String(old)), before, {
      timeout: 15_000,
    });
  });

  it('is told when the stream is down, and when it is back', async () => {
    const { page } = visit;
    await page.route('**/api/v1/events', (route) => route.abort());
    await visit.open('/', 'Overview');
    await page.getByRole('button', { name: /^Reconnecting/ }).waitFor();
    await page.getByRole('button', { name: /^Stale since \d\d:\d\d:\d\d/ }).waitFor({ timeout: 20_000 });
    await page.getByText(/The event stream is down: this is as of/).waitFor();
    await page.unroute('**/api/v1/events');
    await page.getByRole('button', { name: /^Live\./ }).waitFor({ timeout: 20_000 });
    await page.getByText(/The event stream is down/).waitFor({ state: 'detached' });
  });

  it('signs in by a link that works once and leaves no token behind', async () => {
    const { page } = visit;
    await visit.open(`/#token=${loginToken}`, 'Overview');
    await page.getByRole('button', { name: 'Signed in as admin' }).waitFor();
    expect(page.url()).toBe(`${address}/`);
    await visit.checkAccessibility();
    const cookies = await page.context().cookies(`${address}/api/v1/halts`);
    expect(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([[true, 'Strict']]);
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(
      loginToken,
    );
    const other = await Visit.begin(browser);
    await other.open(`/#token=${loginToken}`, 'Overview');
    await other.page.getByRole('alert').filter({ hasText: 'used up' }).waitFor();
    await other.end();
  });

  it('halts automation with a reason, is seen to have done so elsewhere, and lifts it', async () => {
    const { page } = visit;
    const other = await Visit.begin(browser);
    await other.open('/incidents', 'Incidents');
    await other.page.getByRole('button', { name: /^Live\./ }).waitFor();
    await visit.open('/sign-in?to=/runs', 'Sign in');
    await page.getByLabel('Admin token').fill(adminToken);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await visit.heading('Runs');
    await page.getByRole('button', { name: 'Halt', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Halt automation' });
    await dialog.getByLabel(/^Reason/).fill('Odd readings in zone-a');
    await visit.checkAccessibility();
    await dialog.getByRole('button', { name: 'Halt', exact: true }).click();
    const banner = { name: 'Automation is halted' };
    await page.getByRole('region', banner).getByText('Odd readings in zone-a').waitFor();
    await other.page.getByRole('region', banner).waitFor({ timeout: 5000 });
    await page.getByRole('button', { name: 'Lift' }).click();
    await page.getByRole('dialog', { name: 'Lift the halt' }).getByRole('button', { name: 'Lift' }).click();
    await page.getByRole('region', banner).waitFor({ state: 'detached' });
    await other.page.getByRole('region', banner).waitFor({ state: 'detached', timeout: 5000 });
    await other.end();
  });

  it('works by keyboard alone', async () => {
    const { page } = visit;
    await visit.open('/', 'Overview');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    await page.getByRole('button', { name: 'Halt', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('TEXTAREA');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Halt');
  });

  it('keeps the scheme that was chosen, before the first paint', async () => {
    const { page } = visit;
    await visit.open('/', 'Overview');
    const scheme = () => page.evaluate(() => document.documentElement.dataset.mantineColorScheme);
    expect(await scheme()).toBe('light');
    await page.getByRole('button', { name: /^Colour scheme/ }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    expect(await scheme()).toBe('dark');
    await page.reload({ waitUntil: 'commit' });
    await page.waitForFunction(() => document.documentElement.dataset.mantineColorScheme === 'dark');
  });

  it('reads the numbers of a chart in a table', async () => {
    const { page } = visit;
    await visit.open('/drills/run-drill-passed', 'zone-outage');
    await page.getByRole('button', { name: 'Show as a table' }).click();
    await page.getByRole('columnheader', { name: 'Effective share' }).waitFor();
    await visit.checkAccessibility();
  });

  it('finds the way on a narrow screen', async () => {
    const narrow = await Visit.begin(browser, { size: 'narrow' });
    const { page } = narrow;
    await narrow.open('/', 'Overview');
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await page.getByRole('link', { name: /^Drills/ }).click();
    await narrow.heading('Drills');
    await page.getByRole('button', { name: 'Halt', exact: true }).waitFor();
    await narrow.end();
  });
});
