import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { HttpServer } from '../../../../src/adapters/http/server.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { open, originsOf, type Visit } from '../../../support/programs/browser.ts';
import { openPlants } from '../../../support/programs/plants-page.ts';
import { listening } from '../../../support/servers/local-server.ts';

/* The API reference in a real Chromium. `UPDATE_SCREENSHOT=1 npm run test:browser` renews the picture in the README. */
const screenshot = join(import.meta.dirname, '../../../../docs/api-reference.png');

const OLDEST = { id: 2n ** 63n - 1n, name: 'Pinus longaeva', tag: 'conifer' };
const OLDEST_AS_JSON = '{\n  "id": 9223372036854775807,\n  "name": "Pinus longaeva",\n  "tag": "conifer"\n}';

let plants: Map<bigint, NewPlant>;
let server: HttpServer;
beforeEach(async () => {
  plants = new Map();
  server = await startApiServer({ plants: fakePlants(plants) });
});

async function visit(url = server.url, options: BrowserContextOptions = {}): Promise<Visit> {
  const visited = await open(`${url}/docs`, { viewport: { width: 1000, height: 930 }, ...options });
  await visited.page.locator('.opblock').first().waitFor();
  return visited;
}

/** The part of the page for an operation, unfolded. */
async function unfold(page: Page, operationId: string): Promise<Locator> {
  const operation = page.locator(`#operations-Plants-${operationId}`);
  const button = operation.locator('.opblock-summary-control');
  if ((await button.getAttribute('aria-expanded')) === 'false') await button.click();
  await operation.locator('.responses-table pre').first().waitFor();
  return operation;
}

/** Gives the page the token. */
async function authorize(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('auth-bearer-value').fill(TOKEN);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
}

/** Sends the form of an operation, and resolves to the status and the text of the body that the page then shows. */
async function send(operation: Locator): Promise<[status: string, text: string]> {
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answer = operation.locator('.live-responses-table tr.response');
  const status = await answer.locator('.response-col_status').textContent();
  return [status ?? '', (await answer.locator('pre').first().textContent()) ?? ''];
}

async function clear(operation: Locator): Promise<void> {
  await operation.getByRole('button', { name: 'Clear' }).click();
  await operation.locator('.live-responses-table').waitFor({ state: 'detached' });
}

/** Creates a plant with the form, from a body as it is. */
async function create(page: Page, body = OLDEST_AS_JSON): Promise<[status: string, body: unknown]> {
  const operation = await unfold(page, 'createPlant');
  await operation.locator('.body-param textarea').fill(body);
  const [status, text] = await send(operation);
  return [status, JSON.parse(text)];
}

/** Where the form says which media type it asks for. */
const mediaType = (operation: Locator) => operation.locator('.response[data-code="200"] .content-type');

test('creates a plant with its exact id, asks nobody else, and reads what a link names', async () => {
  const { page, requests } = await visit();
  await authorize(page);
  expect(await create(page)).toEqual(['200', { name: 'Pinus longaeva', tag: 'conifer' }]);
  expect([...plants.values()]).toEqual([OLDEST]);
  expect(originsOf(requests)).toEqual([server.url]);
  if (process.env.UPDATE_SCREENSHOT) {
    // Not with the button that shows under the pointer.
    await page.mouse.move(0, 0);
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: screenshot, animations: 'disabled' });
  }
  await page.goto(`${server.url}/docs#/Plants/findPlant`);
  await page.reload();
  const operation = page.locator('#operations-Plants-findPlant');
  await operation.getByPlaceholder('id').fill(`${OLDEST.id}`);
  await authorize(page);
  expect(await send(operation)).toEqual(['200', OLDEST_AS_JSON]);
});

test('lists plants, their ids exact, as a JSON array or as lines', async () => {
  const texts = ['},{"id":1,"', '\\"[', 'a  b\n\t', '\ud83c\udf31 , :'];
  for (const [id, name] of texts.entries()) plants.set(BigInt(id), { id: BigInt(id), name, tag: '[]' });
  plants.set(OLDEST.id, OLDEST);
  const { page } = await visit();
  await authorize(page);
  const operation = await unfold(page, 'listPlants');
  const limit = operation.getByPlaceholder('limit');
  expect([await limit.inputValue(), await mediaType(operation).inputValue()]).toEqual(['100', 'application/json']);
  const rounded = [...plants.values()].map((plant) => ({ ...plant, id: Number(plant.id) }));
  const list = JSON.stringify(rounded, null, 2).replace('9223372036854776000', `${OLDEST.id}`);
  expect(await send(operation)).toEqual(['200', list]);

  await clear(operation);
  await operation.getByPlaceholder('name').fill('LONG');
  await mediaType(operation).selectOption('application/x-ndjson');
  const line = '{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}\n';
  expect(await send(operation)).toEqual(['200', line]);
  await operation.locator('.curl', { hasText: 'accept: application/x-ndjson' }).waitFor();

  for (let id = 0n; id < 100_000n; id++) plants.set(id, { id, name: `Ficus number ${id}`, tag: 'tree' });
  await operation.getByPlaceholder('name').fill('');
  for (const type of ['application/json', 'application/x-ndjson']) {
    await clear(operation);
    await limit.fill('');
    await mediaType(operation).selectOption(type);
    const [status, text] = await send(operation);
    expect([status, text.length]).toEqual(['200', 50_000]);
    await operation.getByText('Only its first 50000 characters are shown').waitFor();
  }
});

test('sends to where it came from, under a prefix, on a telephone and in the dark', async () => {
  const address = await startPrefixProxy(server.url);
  const { page } = await visit(address, { viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
  const color = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
  expect(await color()).toMatch(/^rgb\(\d\d, \d\d, \d\d\)$/);
  expect(await page.locator('#servers option').allTextContents()).toEqual([address, server.url]);
  await authorize(page);
  expect((await create(page))[0]).toBe('200');
  for (const operation of ['listPlants', 'findPlant']) await unfold(page, operation);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  const { page: plantsPage } = await openPlants(address);
  await plantsPage.row(OLDEST.id).waitFor();
});

/** Starts a proxy that serves a server under the path /garden, until the end of the test. @returns its URL */
async function startPrefixProxy(target: string): Promise<string> {
  const proxy = createServer((from, to) => {
    const path = (from.url ?? '').replace(/^\/garden/, '');
    const { method, headers } = from;
    from.pipe(
      request(`${target}${path}`, { method, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(to);
      }).on('error', () => to.destroy()),
    );
  });
  return `http://127.0.0.1:${await listening(proxy)}/garden`;
}
