import { expect, test } from '@jest/globals';
import { allPermissions, type TokenVerifier } from '../../src/application/permissions.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { originsOf } from '../support/programs/browser.ts';
import { openPage, openPlants, plantsPage } from '../support/programs/plants-page.ts';
import { startTcpProxy } from '../support/servers/tcp-proxy.ts';
import { startService, startWith, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* The page without a token, with one that is withdrawn, and while the service or its database fails. */

test('is signed in by the link of the start message, whose token nobody else gets', async () => {
  const folder = await temporaryFolder();
  const service = await startService(folder);
  const link = /^Plants: (\S+)$/m;
  await service.until(() => link.test(service.stderr()));
  const [, address = ''] = link.exec(service.stderr()) ?? [];
  const token = new URL(address).hash.slice('#token='.length);
  expect(token).toMatch(/^[\w-]{43}$/);

  const { page, requests } = await openPage(address);
  await page.says('Live');
  expect(page.url()).toBe(`${service.apiUrl}/`);
  await page.addPlant(1, 'Ficus');
  await page.row(1).waitFor();
  await page.reload();
  await page.row(1).waitFor();
  expect(await page.evaluate('[JSON.stringify(localStorage), document.cookie]')).toEqual(['{}', '']);
  expect(originsOf(requests)).toEqual([service.apiUrl]);
  expect([...requests].join() + service.stdout()).not.toContain(token);
  // Not even to learn what the token permits.
  expect(service.stdout()).not.toMatch(/"status":40[13]/);

  // Another tab has to be given it.
  const other = plantsPage(await page.context().newPage());
  await other.goto(service.apiUrl);
  await other.getByLabel('Token', { exact: true }).waitFor();
  await page.pressButton('Stay signed in');
  await other.reload();
  await other.row(1).waitFor();
  await page.pressButton('Sign out');
  await page.getByLabel('Token', { exact: true }).waitFor();
  expect(await page.evaluate('JSON.stringify([sessionStorage, localStorage])')).not.toContain(token);
});

/** The page of a service in memory that has a plant, as it asks for a token or has one. */
async function openInMemory(verifyToken?: TokenVerifier, hash = `#token=${TOKEN}`) {
  const stored = new Map([[1n, { id: 1n, name: 'Ficus' }]]);
  const { url } = await startApiServer({ plants: fakePlants(stored), ...(verifyToken && { verifyToken }) });
  const { page } = await openPage(`${url}/${hash}`);
  return { stored, page };
}

test('asks for a token, and says so where one is not accepted', async () => {
  const accepted = 'a-token-that-is-accepted';
  const { page } = await openInMemory(
    (token) => (token === accepted ? { permissions: allPermissions } : undefined),
    '',
  );
  await page.signIn('a-token-of-another-service');
  await page.says('(40101).');
  expect(await page.locator('#count').textContent()).toBe('');
  await page.signIn(`https://plants.example/#token=${accepted}&tag=tree`);
  await page.row(1).waitFor();
});

test('shows a 503 while the database is away, and does what was wanted once it is back', async () => {
  const database = await migratedDatabase();
  const network = await startTcpProxy(database.url);
  const service = await startWith({
    DATABASE_URL: network.url,
    STORE_TIMEOUT: '1s',
    STATEMENT_TIMEOUT: '200ms',
  });
  const { page } = await openPlants(service.apiUrl);
  // The first list says what the token permits.
  await page.getByRole('button', { name: 'Add plant' }).waitFor();
  network.swallow();
  await page.addPlant(1, 'meanwhile');
  await page
    .dialog()
    .getByText(/^The service is not available \(50300: .*\)\. Trying again …$/)
    .waitFor();
  await page.getByText('Live', { exact: true }).waitFor({ state: 'hidden' });
  network.pass();
  await page.row(1).waitFor();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.dialog().waitFor({ state: 'hidden' });
});

test.each(['', '#token=%', '#token=%E2%82%AC'])(
  'is let in by a link while it asks for a token, as at /%s',
  async (hash) => {
    const { stored, page } = await openInMemory(undefined, hash);
    await page.getByLabel('Token', { exact: true }).waitFor();
    if (hash !== '') await page.says('(40101).');
    await page.evaluate(`void (location.hash = 'token=${TOKEN}')`);
    await page.getByLabel('Token', { exact: true }).waitFor({ state: 'hidden' });
    await page.row(1).waitFor();
    stored.clear();
    await page.row(1).click();
    await page.dialog().getByText('There is no plant with this id (40401).').waitFor();
    expect(await page.getByText('Loading …').isVisible()).toBe(false);
  },
);

test.each([
  ['redirects', { status: 302, headers: { Location: 'https://login.example/' } }],
  ['has a 401 of its own', { status: 401, contentType: 'text/html', body: '<h1>Sign in</h1>' }],
])('says that a sign-in in front has ended, which %s, and loses no edit', async (_how, answer) => {
  const { stored, page } = await openInMemory();
  await page.row(1).click();
  await page.showsForm({ Name: 'Ficus' });
  await page.fillIn({ Name: 'edited' });
  // The page itself is in the cache of the browser, as its files may be.
  await page.route(/plants|changes|tags/, (route) => route.fulfill(answer));
  await page.pressButton('Save');
  const ended = page.getByRole('dialog', { name: 'You are signed out' });
  await ended.getByText(/^Your sign-in has ended/).waitFor();
  await page.getByText('Live', { exact: true }).waitFor({ state: 'hidden' });
  await ended.getByRole('button', { name: 'Try again' }).click();
  await ended.getByRole('button', { name: 'Reload' }).waitFor();
  // Somebody has signed in, in another tab.
  await page.unroute(/plants|changes|tags/);
  await ended.getByRole('button', { name: 'Try again' }).click();
  await eventually(async () => stored.get(1n)?.name === 'edited');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.route(/changes/, (route) => route.fulfill(answer));
  await Promise.all([page.waitForEvent('load'), ended.getByRole('button', { name: 'Reload' }).click()]);
});

test.each([
  ['changes_unavailable', 50100],
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
  const { page } = await openPage(`${server.url}/#token=${TOKEN}`);
  await page.says(`(${number})`);
  await page.says('Not live');
  await page.row(1).waitFor();
  await page.addPlant(2, 'added');
  await page.row(2).waitFor();
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
  await page.row(1).waitFor();
  // As a restored database has it: without a change in the feed.
  isExpired = true;
  stored.delete(1n);
  stored.set(2n, { id: 2n, name: 'restored' });
  await page.row(2).waitFor();
  expect(await page.row(1).count()).toBe(0);
});
