/** One real browser for all journeys, and one page with a clean profile for each. */
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

export const address = required('FLEETWARD_E2E_ADDRESS');
export const adminToken = required('FLEETWARD_E2E_ADMIN');
export const loginToken = required('FLEETWARD_E2E_LOGIN');

export function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the journeys through tests/e2e/test_console.py`);
  return value;
}

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: process.env.FLEETWARD_CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });

export type Scheme = 'light' | 'dark';
export const sizes = { wide: { width: 1440, height: 900 }, narrow: { width: 390, height: 844 } } as const;

type Options = { scheme?: Scheme; size?: keyof typeof sizes };

export class Visit {
  private constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
    /** What the browser complained about: a clean console is part of every journey. */
    readonly complaints: string[],
  ) {}

  static async begin(browser: Browser, { scheme = 'light', size = 'wide' }: Options = {}): Promise<Visit> {
    const context = await browser.newContext({
      viewport: sizes[size],
      colorScheme: scheme,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    return new Visit(page, context, complaints);
  }

  async open(path: string, heading?: string): Promise<void> {
    await this.page.goto(address + path);
    await this.heading(heading);
  }

  /** Waits for the page's title, and for its skeleton to be gone. */
  async heading(text?: string): Promise<void> {
    const title = this.page.getByRole('heading', { level: 1 });
    await (text ? title.filter({ hasText: text }) : title).first().waitFor();
    await this.page.locator('[aria-busy="true"]').waitFor({ state: 'detached' });
  }

  /** Fails on what axe finds; every rule it has for WCAG 2.1 A and AA, and its best practices. */
  async checkAccessibility(): Promise<void> {
    await this.page.evaluate(axe.source);
    const found = await this.page.evaluate(async () => {
      type Axe = {
        run: () => Promise<{
          violations: { id: string; nodes: { html: string; any: { message: string }[] }[] }[];
        }>;
      };
      const { violations } = await (window as unknown as { axe: Axe }).axe.run();
      return violations.map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map((n) => `${n.html.slice(0, 200)} ${n.any.map((a) => a.message).join(' ')}`).join('\n  ')}`,
      );
    });
    expect(found).toEqual([]);
  }

  async checkFits(): Promise<void> {
    const over = await this.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(over).toBe(0);
  }

  async end(): Promise<void> {
    await this.context.close();
  }
}
