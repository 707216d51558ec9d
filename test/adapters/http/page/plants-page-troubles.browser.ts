import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { PlantStoreError } from '../../../../src/domain/errors.ts';
import { get, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { open, originsOf } from '../../../support/programs/browser.ts';
import {
  addPlant,
  dialog,
  fillIn,
  onPostgres,
  openPlants,
  press,
  READ_TOKEN,
  row,
  says,
  showsForm,
  signIn,
} from '../../../support/programs/plants-page.ts';
import { startPrefixProxy } from '../../../support/programs/prefix-proxy.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { startService, temporaryFolder } from '../../../support/service-process.ts';
import { migratedDatabase } from '../../../support/test-database.ts';

/* The page without a token, with one that is withdrawn, and while the service or its database fails. */

test('is signed in by the link of the start message, and keeps the token where nobody else gets it', async () => {
  const folder = await temporaryFolder();
  const service = await startService(folder);
  const link = /^Plants: (\S+)$/m;
  await service.until(() => link.test(service.stderr()));
  const [, address = ''] = link.exec(service.stderr()) ?? [];
  const token = new URL(address).hash.slice('#token='.length);
  expect(token).toMatch(/^[\w-]{43}$/);

  const { page, requests } = await open(address);
  await says(page, 'Live');
  expect(page.url()).toBe(`${service.apiUrl}/`);
  await addPlant(page, 1, 'Ficus');
  await row(page, 1).waitFor();
  await page.reload();
  await row(page, 1).waitFor();
  const kept = await page.evaluate<string[]>('[JSON.stringify(localStorage), document.cookie]');
  expect(kept).toEqual(['{}', '']);
  expect(originsOf(requests)).toEqual([service.apiUrl]);
  expect([...requests].filter((url) => url.includes(token))).toEqual([]);
  expect(service.stdout()).not.toContain(token);
  // Not even to learn what the token permits.
  expect(service.stdout()).not.toMatch(/"status":40[13]/);

  // Another tab has to be given it.
  const other = await page.context().newPage();
  await other.goto(service.apiUrl);
  await other.getByLabel('Token', { exact: true }).waitFor();
  await press(page, 'Forget token');
  await page.getByLabel('Token', { exact: true }).waitFor();
  expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(token);
});

test('asks for a token, says why one is not accepted, and asks again when it is revoked', async () => {
  const file = join(await temporaryFolder(), 'tokens');
  await writeFile(file, 'a-token-that-is-revoked');
  const service = await onPostgres(1, { ACCESS_TOKENS_FILE: file });
  const { page } = await open(service.apiUrl);
  await signIn(page, 'a-token-of-another-service');
  await says(page, '40101: the access token is not accepted');
  await signIn(page, 'a-token-that-is-revoked');
  await row(page, 1).waitFor();
  await writeFile(file, 'a-token-that-is-new');
  await eventually(async () => {
    return (await get(service.apiUrl, '/plants/1', { Authorization: 'Bearer a-token-that-is-new' })).status === 200;
  });
  await row(page, 1).click();
  await says(page, '40101: the access token is not accepted');
  expect(await page.getByText('40101').count()).toBe(1);
  await signIn(page, 'a-token-that-is-new');
  await showsForm(page, { Id: '1', Name: 'Ficus number 1' });
});

test('shows a 403 and takes the buttons away when a token is for reading only from now on', async () => {
  const folder = await temporaryFolder();
  const files = { ACCESS_TOKENS_FILE: join(folder, 'all'), READ_TOKENS_FILE: join(folder, 'read') };
  await writeFile(files.ACCESS_TOKENS_FILE, `${TOKEN}-of-the-file`);
  await writeFile(files.READ_TOKENS_FILE, `${READ_TOKEN}-of-the-file`);
  const service = await onPostgres(1, files);
  const token = `${TOKEN}-of-the-file`;
  const { page } = await openPlants(service.apiUrl, token);
  await row(page, 1).click();
  await fillIn(page, { Name: 'changed' });
  await writeFile(files.ACCESS_TOKENS_FILE, `${READ_TOKEN}-of-the-other-file`);
  await writeFile(files.READ_TOKENS_FILE, token);
  await eventually(async () => {
    return (await get(service.apiUrl, '/plants/1', { Authorization: `Bearer ${token}` }, 'PUT')).status === 403;
  });
  await press(page, 'Save');
  await dialog(page).getByText('40300: the access token does not permit this operation').waitFor();
  await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'hidden' });
  page.once('dialog', (question) => question.accept());
  await press(page, 'Close');
  expect(await page.getByRole('button', { name: 'Add plant' }).isVisible()).toBe(false);
});

test('shows a 503 while the database is away, and does what was wanted once it is back', async () => {
  const database = await migratedDatabase();
  const network = await startTcpProxy(database.url);
  const service = await startService(await temporaryFolder(), {
    DATABASE_URL: network.url,
    ACCESS_TOKENS: TOKEN,
    STORE_TIMEOUT: '1s',
    CONNECT_TIMEOUT: '300ms',
    STATEMENT_TIMEOUT: '200ms',
  });
  const { page } = await openPlants(service.apiUrl);
  // The first list says what the token permits.
  await page.getByRole('button', { name: 'Add plant' }).waitFor();
  network.swallow();
  await addPlant(page, 1, 'meanwhile');
  await dialog(page)
    .getByText(/^The service is not available \(50300: .*safe\)\. Trying again\.$/)
    .waitFor();
  await page.getByText('Live', { exact: true }).waitFor({ state: 'hidden' });
  network.pass();
  await row(page, 1).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await dialog(page).waitFor({ state: 'hidden' });
});

test('asks for a token when that of the link is malformed', async () => {
  const server = await startApiServer();
  for (const token of ['%', '%E2%82%AC']) {
    const { page } = await open(`${server.url}/#token=${token}`);
    await says(page, '40101: the access token is not accepted');
    await page.getByLabel('Token', { exact: true }).waitFor();
  }
});

test.each(['', '#token=of-somebody-else'])('is let in by a link while it asks for a token, as at /%s', async (hash) => {
  const server = await startApiServer({ plants: fakePlants(new Map([[1n, { id: 1n, name: 'Ficus' }]])) });
  const { page } = await open(`${server.url}/${hash}`);
  await page.getByLabel('Token', { exact: true }).waitFor();
  await page.evaluate(`void (location.hash = 'token=${TOKEN}')`);
  await page.getByLabel('Token', { exact: true }).waitFor({ state: 'hidden' });
  await row(page, 1).click();
  await showsForm(page, { Id: '1', Name: 'Ficus' });
});

test('says what keeps a plant away, or those below', async () => {
  const stored = new Map(Array.from({ length: 501 }, (_, n) => [BigInt(n), { id: BigInt(n), name: 'Ficus' }]));
  const plants = fakePlants(stored);
  let isBroken = true;
  const server = await startApiServer({
    plants: {
      ...plants,
      async readBatch(range, count) {
        if (isBroken && range.from > 499n) throw new Error('a fault');
        return plants.readBatch(range, count);
      },
    },
  });
  const { page } = await openPlants(server.url);
  await row(page, 0).waitFor();
  await says(page, '500 plants, more below');
  stored.delete(0n);
  await row(page, 0).click();
  await dialog(page).getByText('40401: ').waitFor();
  expect(await page.getByText('Loading …').isVisible()).toBe(false);
  await press(page, 'Close');
  await page.locator('#plants').press('End');
  await says(page, 'The service has failed (50000: ');
  isBroken = false;
  await page.getByText('501 plants', { exact: true }).waitFor();
});

test('asks no longer whether there is a plant with an id once something else is shown', async () => {
  const plants = new Map([[1n, { id: 1n, name: 'Ficus' }]]);
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(plants) })).url);
  await row(page, 1).waitFor();
  // It never gets a response.
  await page.route('**/plants/7', () => {});
  const asked = page.waitForRequest('**/plants/7');
  await page.getByLabel('From id').fill('7');
  await page.keyboard.press('Enter');
  await asked;
  const [left] = await Promise.all([page.waitForEvent('requestfailed'), press(page, 'Show all')]);
  expect(left.url()).toContain('/plants/7');
  await row(page, 1).waitFor();
  expect(await page.locator('#problem').textContent()).toBe('');
});

test('keeps what is typed and the filter when the feed begins late', async () => {
  const plants = fakePlants(new Map([1n, 2n].map((id) => [id, { id, name: 'Ficus', tag: `tag ${id}` }])));
  const begins = Promise.withResolvers<void>();
  const server = await startApiServer({
    plants: {
      ...plants,
      async readChanges(query) {
        await begins.promise;
        return plants.readChanges({ ...query, wait: Math.min(query.wait, 100) });
      },
    },
  });
  const { page } = await open(`${server.url}/#token=${TOKEN}`);
  await page.getByLabel('Tag', { exact: true }).first().fill('tag 2');
  await page.keyboard.press('Enter');
  await row(page, 2).waitFor();
  await page.getByLabel('From id').fill('7');
  begins.resolve();
  await says(page, 'Live');
  await row(page, 2).waitFor();
  expect(await page.getByLabel('Tag', { exact: true }).first().inputValue()).toBe('tag 2');
  expect(await page.getByLabel('From id').inputValue()).toBe('7');
  expect(await row(page, 1).count()).toBe(0);
});

test.each([
  ['changes_unavailable', 50100],
  ['invalid_plant', 40022],
  ['plant_not_found', 40401],
] as const)('says so where the feed of changes is refused, and asks no more: %s', async (code, number) => {
  let asked = 0;
  const server = await startApiServer({
    plants: {
      ...fakePlants(new Map([[1n, { id: 1n, name: 'Ficus' }]])),
      async readChanges() {
        asked++;
        throw new PlantStoreError(code, 'there is no feed of changes');
      },
    },
  });
  const { page } = await open(`${server.url}/#token=${TOKEN}`);
  await says(page, `${number}: there is no feed of changes`);
  await says(page, 'Not live');
  await row(page, 1).waitFor();
  await addPlant(page, 2, 'added');
  await row(page, 2).waitFor();
  expect(asked).toBe(1);
});

test('reads everything again when its position in the feed is not valid any more', async () => {
  const stored = new Map([[1n, { id: 1n, name: 'Ficus' }]]);
  const plants = fakePlants(stored);
  let isExpired = false;
  const server = await startApiServer({
    plants: {
      ...plants,
      async readChanges(query) {
        if (isExpired && query.after !== 'now') throw new PlantStoreError('cursor_expired', 'start again');
        isExpired = false;
        return plants.readChanges({ ...query, wait: Math.min(query.wait, 100) });
      },
    },
  });
  const { page } = await openPlants(server.url);
  await row(page, 1).waitFor();
  // As a restored database has it: without a change in the feed.
  isExpired = true;
  stored.delete(1n);
  stored.set(2n, { id: 2n, name: 'restored' });
  await row(page, 2).waitFor();
  expect(await row(page, 1).count()).toBe(0);
});

test('works behind a proxy that serves it under a prefix', async () => {
  const server = await startApiServer({ plants: fakePlants(new Map([[1n, { id: 1n, name: 'Ficus' }]])) });
  const { page } = await openPlants(await startPrefixProxy(server.url));
  await row(page, 1).waitFor();
});
