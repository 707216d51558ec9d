import { afterEach, beforeAll, expect } from '@jest/globals';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { atEnd } from '../lifetimes.ts';
import { run } from '../service-process.ts';

/* The Chromium of this machine, without a window, for the tests of a file: the one that CHROMIUM names, or the first on PATH. */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

let browser: Browser;
beforeAll(async () => {
  const search = NAMES.map((name) => `command -v ${name}`).join(' || ');
  const executablePath = process.env.CHROMIUM || (await run('sh', ['-c', search])).stdout.trim();
  if (executablePath === '') {
    throw new Error(`no browser: install chromium, or let CHROMIUM name one (looked for ${NAMES.join(', ')} on PATH)`);
  }
  // Chromium's sandbox refuses to run as root.
  browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
  atEnd(() => browser.close());
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

export interface Visit {
  readonly page: Page;
  /** The addresses of everything that the page asked for. */
  readonly requests: Set<string>;
}

/**
 * Opens an address in a new window. At the end of the test a developer must see no complaints in its console, but for
 * what its scripts were refused, which browsers always report.
 */
export async function open(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 }, ...options });
  const page = await context.newPage();
  // Longer than a busy machine takes, and a little less than Jest waits, so that a failure says for what.
  page.setDefaultTimeout(100_000);
  const requests = new Set<string>();
  const complaints: string[] = [];
  page.on('console', (message) => {
    const isAboutResponse = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isAboutResponse) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (sent) => requests.add(sent.url()));
  page.on('response', (response) => {
    const isOfScript = response.request().resourceType() === 'fetch';
    if (!isOfScript && response.status() >= 400) complaints.push(`${response.status()} ${response.url()}`);
  });
  atEnd(() => expect(complaints).toEqual([]));
  await page.goto(url);
  return { page, requests };
}

/** The origins of these. */
export const originsOf = (requests: ReadonlySet<string>): string[] => [
  ...new Set([...requests].map((url) => new URL(url).origin)),
];
