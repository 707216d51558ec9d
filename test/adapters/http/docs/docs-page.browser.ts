import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { HttpServer } from '../../../../src/adapters/http/sockets/server.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { open, originsOf, type Visit } from '../../../support/programs/browser.ts';
import { startPrefixProxy } from '../../../support/programs/prefix-proxy.ts';

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

async function visit(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const visited = await open(url, { viewport: { width: 1000, height: 930 }, ...options });
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

async function authorize(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: 'Authorize' }).click();
  await page.getByLabel('auth-bearer-value').fill(token);
  await page.getByRole('button', { name: 'Apply credentials' }).click();
  await page.getByRole('button', { name: 'Close' }).click();
}

/** The part of the page for an operation, which sends TOKEN. */
async function operationWithToken(operationId: string): Promise<Locator> {
  const { page } = await visit(`${server.url}/docs`);
  await authorize(page, TOKEN);
  return unfold(page, operationId);
}

/** Sends the form of an operation, and resolves to the status and the text of the body that the page then shows. */
async function send(operation: Locator): Promise<[status: string, text: string]> {
  await operation.getByRole('button', { name: 'Execute' }).click();
  const answer = operation.locator('.live-responses-table tr.response');
  const status = await answer.locator('.response-col_status').textContent();
  return [status ?? '', (await answer.locator('pre').first().textContent()) ?? ''];
}

/** Creates a plant with the form, from a body as it is. */
async function execute(page: Page, body: string): Promise<[status: string, body: unknown]> {
  const operation = await unfold(page, 'createPlant');
  await operation.locator('.body-param textarea').fill(body);
  const [status, text] = await send(operation);
  return [status, JSON.parse(text)];
}

/** Where the form says which media type it asks for. */
const mediaType = (operation: Locator) => operation.locator('.response[data-code="200"] .content-type');

test('creates a plant with the id exactly as it was typed, and asks nobody else for anything', async () => {
  const { page, requests } = await visit(`${server.url}/docs`);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(/^Plant Store/);
  await authorize(page, TOKEN);
  expect(await execute(page, OLDEST_AS_JSON)).toEqual(['200', { name: 'Pinus longaeva', tag: 'conifer' }]);
  expect([...plants.values()]).toEqual([OLDEST]);
  expect(originsOf(requests)).toEqual([server.url]);
  if (process.env.UPDATE_SCREENSHOT) {
    // Not with the button that shows under the pointer.
    await page.mouse.move(0, 0);
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: screenshot, animations: 'disabled' });
  }
});

test('shows the operations as a list, and unfolds the one that a link names', async () => {
  const { page } = await visit(`${server.url}/docs`);
  const shown = async () => page.getByRole('button', { name: 'Execute' }).count();
  expect(await page.locator('.opblock-summary-description').allTextContents()).toEqual([
    'List plants',
    'Create a plant',
    'Read a plant',
    'Change a plant',
    'Delete a plant',
    'Import a list of plants',
    'Follow the changes',
    // What webhooks get.
    'A plant is new or has changed',
  ]);
  expect(await shown()).toBe(0);
  await page.goto(`${server.url}/docs#/Plants/findPlant`);
  await page.reload();
  await page.locator('#operations-Plants-findPlant').getByRole('button', { name: 'Execute' }).waitFor();
  expect(await shown()).toBe(1);
});

test('reads a plant, its id exact in the form and in the response', async () => {
  plants.set(OLDEST.id, OLDEST);
  const operation = await operationWithToken('findPlant');
  await operation.getByPlaceholder('id').fill(`${OLDEST.id}`);
  expect(await send(operation)).toEqual(['200', OLDEST_AS_JSON]);
});

test('lists plants, their ids exact, as a JSON array or as lines', async () => {
  for (const id of [OLDEST.id - 1n, OLDEST.id]) plants.set(id, { ...OLDEST, id });
  const operation = await operationWithToken('listPlants');
  await operation.getByPlaceholder('after').fill(`${OLDEST.id - 1n}`);
  await operation.getByPlaceholder('tag').fill('conifer');
  await operation.getByPlaceholder('name').fill('LONG');
  expect(await mediaType(operation).inputValue()).toBe('application/json');
  expect(await send(operation)).toEqual(['200', `[\n${OLDEST_AS_JSON.replaceAll(/^/gm, '  ')}\n]`]);

  await operation.getByRole('button', { name: 'Clear' }).click();
  await mediaType(operation).selectOption('application/x-ndjson');
  const line = '{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}\n';
  expect(await send(operation)).toEqual(['200', line]);
  await operation.locator('.curl', { hasText: 'accept: application/x-ndjson' }).waitFor();
});

test('shows any text as JSON has it', async () => {
  for (const [id, name] of ['', '},{"id":1,"', '\\"[', 'a  b\n\t', '\ud83c\udf31 , :'].entries()) {
    const plant = { id: BigInt(id), name, tag: '[]' };
    plants.set(plant.id, plant);
  }
  const [, text] = await send(await operationWithToken('listPlants'));
  const list = [...plants.values()].map((plant) => ({ ...plant, id: Number(plant.id) }));
  expect(text).toBe(JSON.stringify(list, null, 2));
});

test('fills in the limit of a list, and stays usable without it', async () => {
  for (let id = 0n; id < 100_000n; id++) plants.set(id, { id, name: `Ficus number ${id}`, tag: 'tree' });
  const operation = await operationWithToken('listPlants');
  const limit = operation.getByPlaceholder('limit');
  expect(await limit.inputValue()).toBe('100');
  for (const [count, type] of [
    ['', 'application/json'],
    ['', 'application/x-ndjson'],
    // Too long only with the line breaks that the page adds.
    ['800', 'application/json'],
  ] as const) {
    await limit.fill(count);
    await mediaType(operation).selectOption(type);
    const [status, text] = await send(operation);
    expect([status, text.length]).toEqual(['200', 50_000]);
    await operation.getByText('Only its first 50000 characters are shown').waitFor();
    await operation.getByRole('button', { name: 'Clear' }).click();
    await operation.locator('.live-responses-table').waitFor({ state: 'detached' });
  }
});

test('says where the token is in the dialog that asks for it', async () => {
  const { page } = await visit(`${server.url}/docs`);
  await page.getByRole('button', { name: 'Authorize' }).click();
  const dialog = await page.locator('.dialog-ux .modal-ux').textContent();
  expect(dialog).toContain('npm start prints it and keeps it in data/access-token');
});

test('shows an example of 400, and one line for each other error', async () => {
  const { page } = await visit(`${server.url}/docs`);
  const operation = await unfold(page, 'listPlants');
  const row = (status: number) => operation.locator(`.response[data-code="${status}"]`);
  await row(401).getByText('40100 token missing, 40101 token refused').waitFor();
  const [of400, of401] = [400, 401].map((status) => row(status).locator('pre'));
  expect([await of400?.isVisible(), await of401?.isVisible()]).toEqual([true, false]);
  expect(await of400?.textContent()).toContain('"limit must be an integer from 1 to 2147483647 in decimal digits"');
});

test('shows the Error body to a wrong token', async () => {
  const { page } = await visit(`${server.url}/docs`);
  await authorize(page, 'another-token-than-that');
  const refusal = { error: 40101, message: expect.stringMatching(/^the access token is not accepted: /) };
  expect(await execute(page, OLDEST_AS_JSON)).toEqual(['401', refusal]);
  expect(plants.size).toBe(0);
});

test('sends to the address that it came from, also if a proxy serves it under a prefix there', async () => {
  const address = server.url.replace('127.0.0.1', 'localhost');
  for (const url of [address, await startPrefixProxy(server.url)]) {
    const { page } = await visit(`${url}/docs`);
    expect(await page.locator('#servers option').allTextContents()).toEqual([url, server.url]);
    await authorize(page, TOKEN);
    expect((await execute(page, OLDEST_AS_JSON))[0]).toBe('200');
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
  for (const operation of ['listPlants', 'findPlant']) await unfold(page, operation);
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
});
