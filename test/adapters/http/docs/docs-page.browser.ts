import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { startBrowser } from '../../../support/browser.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';

/* The API reference in a real Chromium. `UPDATE_SCREENSHOT=1 npm run test:browser` renews the picture in the README. */
const screenshot = join(import.meta.dirname, '../../../../docs/api-reference.png');

const OLDEST = { id: 2n ** 63n - 1n, name: 'Pinus longaeva', tag: 'conifer' };
const OLDEST_AS_JSON = '{\n  "id": 9223372036854775807,\n  "name": "Pinus longaeva",\n  "tag": "conifer"\n}';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

let plants: Map<bigint, NewPlant>;
let server: HttpServer;
beforeEach(async () => {
  plants = new Map();
  server = await startApiServer({ plants: fakePlants(plants) });
});
afterEach(() => server.close(0));

interface Visit {
  readonly page: Page;
  /** What a developer would see in the console, Content-Security-Policy violations included. */
  readonly complaints: string[];
  /** The origins of everything that the page asked for. */
  readonly origins: Set<string>;
}

async function visit(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const page = await browser.newPage({ viewport: { width: 1000, height: 930 }, ...options });
  const complaints: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (sent) => origins.add(new URL(sent.url()).origin));
  await page.goto(url);
  await page.getByRole('button', { name: 'Execute' }).waitFor();
  return { page, complaints, origins };
}

async function authorize(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('auth-bearer-value').fill(token);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
}

/** Sends a body by the form and resolves to the status and the body that the page then shows. */
async function execute(page: Page, body: string): Promise<[status: string, body: unknown]> {
  await page.locator('.body-param textarea').fill(body);
  await page.getByRole('button', { name: 'Execute' }).click();
  const answer = page.locator('.live-responses-table tr.response');
  const status = await answer.locator('.response-col_status').textContent();
  return [status ?? '', JSON.parse((await answer.locator('pre').first().textContent()) ?? '')];
}

/** Whether all of it is on the screen. */
async function isInView(page: Page, element: Locator): Promise<boolean> {
  const box = await element.boundingBox();
  return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0);
}

test('loads without a complaint and without asking anybody else', async () => {
  const { page, complaints, origins } = await visit(`${server.url}/docs`);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(/^Plant Store/);
  expect(complaints).toEqual([]);
  expect([...origins]).toEqual([server.url]);
});

test('creates a plant with the id exactly as it was typed', async () => {
  const { page, complaints, origins } = await visit(`${server.url}/docs`);
  await authorize(page, TOKEN);
  expect(await execute(page, OLDEST_AS_JSON)).toEqual(['200', { name: 'Pinus longaeva', tag: 'conifer' }]);
  expect([...plants.values()]).toEqual([OLDEST]);
  expect(complaints).toEqual([]);
  expect([...origins]).toEqual([server.url]);
  if (process.env.UPDATE_SCREENSHOT) {
    await page.evaluate("scrollTo({ top: 0, behavior: 'instant' })");
    await page.screenshot({ path: screenshot });
  }
});

test('brings the response to each Execute into view', async () => {
  const { page } = await visit(`${server.url}/docs`, { viewport: { width: 1000, height: 500 } });
  const status = page.locator('.live-responses-table td.response-col_status').last();
  const body = page.locator('.live-responses-table pre').first();
  for (let time = 0; time < 2; time++) {
    await page.evaluate("scrollTo({ top: 0, behavior: 'instant' })");
    await execute(page, OLDEST_AS_JSON);
    await eventually(async () => (await isInView(page, status)) && (await isInView(page, body)), 10_000);
  }
});

test.each([
  ['no-preference', 'smooth'],
  ['reduce', 'auto'],
] as const)('for a reader whose preference for motion is %s, scrolls %s', async (reducedMotion, behavior) => {
  const { page } = await visit(`${server.url}/docs`, { reducedMotion });
  expect(await page.evaluate('getComputedStyle(document.documentElement).scrollBehavior')).toBe(behavior);
});

test('says where the token is in the dialog that asks for it', async () => {
  const { page } = await visit(`${server.url}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).click();
  const dialog = await page.locator('.dialog-ux .modal-ux').textContent();
  expect(dialog).toContain('npm start prints it and keeps it in data/access-token');
});

test('shows each error folded to one line until it is opened', async () => {
  const { page } = await visit(`${server.url}/docs`);
  const bodies = page.locator('.responses-table .response .highlight-code');
  const refused = page.getByRole('button', { name: '40100 token missing, 40101 token refused' });
  // Of the 200 only.
  expect(await bodies.count()).toBe(1);
  expect(await refused.getAttribute('aria-expanded')).toBe('false');

  await refused.press('Enter');
  expect(await refused.getAttribute('aria-expanded')).toBe('true');
  expect(await bodies.last().textContent()).toContain('40100');
  await refused.press('Enter');
  expect(await bodies.count()).toBe(1);
});

test('shows the Error body to a wrong token', async () => {
  const { page } = await visit(`${server.url}/docs`);
  await authorize(page, 'another-token-than-that');
  const [status, body] = await execute(page, OLDEST_AS_JSON);
  expect([status, body]).toEqual(['401', { error: 40101, message: 'the access token is not accepted' }]);
  expect(plants.size).toBe(0);
});

test('sends to the address that it came from, if the public one is another', async () => {
  const address = server.url.replace('127.0.0.1', 'localhost');
  const { page } = await visit(`${address}/docs`);
  expect(await page.locator('#servers option').allTextContents()).toEqual([address, server.url]);
  await authorize(page, TOKEN);
  expect((await execute(page, OLDEST_AS_JSON))[0]).toBe('200');
});

test('works behind a proxy that serves it under a prefix', async () => {
  const proxy = createServer((from, to) => {
    const path = (from.url ?? '').replace(/^\/garden/, '');
    const { method, headers } = from;
    from.pipe(
      request(`${server.url}${path}`, { method, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(to);
      }),
    );
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  try {
    const { page, complaints } = await visit(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/garden/docs`);
    await authorize(page, TOKEN);
    expect((await execute(page, OLDEST_AS_JSON))[0]).toBe('200');
    expect(complaints).toEqual([]);
  } finally {
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  }
});

test('is no way into a service on another origin, unless that allows it', async () => {
  const app = await startApiServer();
  const allowing = await startApiServer({ corsOrigins: [app.url] });
  try {
    const page = await browser.newPage();
    // A document without a policy of its own.
    await page.goto(`${app.url}/openapi.json`);
    const create = (url: string, token: string) =>
      page.evaluate<unknown>(`
        fetch('${url}/plants', {
          method: 'POST',
          headers: { Authorization: 'Bearer ${token}', 'Content-Type': 'application/json' },
          body: '{"id":1,"name":"Monstera"}',
        }).then((answer) => answer.json(), (error) => error.message)
      `);
    expect(await create(server.url, TOKEN)).toBe('Failed to fetch');
    expect(plants.size).toBe(0);
    expect(await create(allowing.url, TOKEN)).toEqual({ name: 'Monstera' });
    expect(await create(allowing.url, 'another-token-than-that')).toMatchObject({ error: 40101 });
  } finally {
    await allowing.close(0);
    await app.close(0);
  }
});

test('is dark where the reader wants it dark, and follows a change of mind', async () => {
  const { page } = await visit(`${server.url}/docs`, { colorScheme: 'dark' });
  const color = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  const dark = await color();
  await page.emulateMedia({ colorScheme: 'light' });
  await page.locator('html:not(.dark-mode)').waitFor();
  expect(dark).toMatch(/^rgb\(\d\d, \d\d, \d\d\)$/);
  expect(await color()).not.toBe(dark);
});

test('fits the screen of a telephone', async () => {
  const { page } = await visit(`${server.url}/docs`, { viewport: { width: 360, height: 740 } });
  await execute(page, OLDEST_AS_JSON);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
});
