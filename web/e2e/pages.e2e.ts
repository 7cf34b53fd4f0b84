/** Every page, wide and narrow, light and dark: it fits, axe finds nothing, the browser complains of nothing. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { launch, type Scheme, sizes, Visit } from './browser';

const pages: [path: string, heading: string][] = [
  ['/', 'Overview'],
  ['/incidents', 'Incidents'],
  ['/incidents?state=unknown', 'Incidents'],
  ['/incidents/inc-mitigated', 'TPOT of zone-b'],
  ['/incidents/inc-mitigated?tab=decisions', 'TPOT of zone-b'],
  ['/runs', 'Runs'],
  ['/runs/run-failover-now', 'zone-failover'],
  ['/runs/run-failover-now?tab=why', 'zone-failover'],
  ['/runs/run-failover-now?tab=journal', 'zone-failover'],
  ['/runs/run-failover-now?tab=attempts', 'zone-failover'],
  ['/runs/run-failover-now?tab=pins', 'zone-failover'],
  ['/runs/run-past-01?tab=undo', 'replica-restart'],
  ['/runs/run-drill-now?tab=faults', 'gray-zone'],
  ['/drills', 'Drills'],
  ['/drills/run-drill-passed', 'zone-outage'],
  ['/drills/run-drill-failed', 'hanging-engine'],
  ['/drills/run-drill-exercise', 'rolling-restart'],
  ['/slos', 'SLOs'],
  ['/slos?state=unknown', 'SLOs'],
  ['/slos/chat-success', 'chat-success'],
  ['/slos/chat-few', 'chat-few'],
  ['/engines', 'Indicators'],
  ['/engines?engine=tgi', 'Indicators'],
  ['/sign-in', 'Sign in'],
  ['/nowhere', 'Nothing here'],
];

describe.each(['light', 'dark'] as Scheme[])('%s', (scheme) => {
  describe.each(Object.keys(sizes) as (keyof typeof sizes)[])('%s', (size) => {
    let browser: Browser;
    let visit: Visit;

    beforeAll(async () => {
      browser = await launch();
      visit = await Visit.begin(browser, { scheme, size });
    });

    afterAll(async () => {
      await visit.end();
      await browser.close();
    });

    it.each(pages)('%s', async (path, heading) => {
      visit.complaints.length = 0;
      await visit.open(path, heading);
      await visit.checkFits();
      await visit.checkAccessibility();
      expect(visit.complaints).toEqual([]);
    });
  });
});
