import { afterEach, beforeAll, expect } from '@jest/globals';
import { type Browser, type BrowserContextOptions, chromium, firefox, type Page } from 'playwright-core';
import { atEnd } from '../lifetimes.ts';
import { run } from '../service-process.ts';

/* A browser of this machine, without a window: that of FIREFOX or CHROMIUM, or else the first Chromium on PATH. */

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

async function launchChromium(): Promise<Browser> {
  const search = NAMES.map((name) => `command -v ${name}`).join(' || ');
  const executablePath = process.env.CHROMIUM || (await run('sh', ['-c', search])).stdout.trim();
  if (executablePath === '') {
    throw new Error(`no browser: install chromium, or let CHROMIUM name one (looked for ${NAMES.join(', ')} on PATH)`);
  }
  // Chromium's sandbox refuses to run as root.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}

/** By WebDriver BiDi. Playwright sets the media of each window, such as a dark screen, which the ESR of 2026 cannot. */
async function launchFirefox(executablePath: string): Promise<Browser> {
  const launched = await firefox.launch({ executablePath, channel: 'moz-firefox' });
  const session = Reflect.get(Reflect.get(launched, '_connection').toImpl(launched), '_browserSession');
  const send = session.send.bind(session);
  session.send = async (command: string, params: object) =>
    command === 'emulation.setMediaFeaturesOverride' ? {} : send(command, params);
  return launched;
}

let browser: Browser;
beforeAll(async () => {
  browser = await (process.env.FIREFOX ? launchFirefox(process.env.FIREFOX) : launchChromium());
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
