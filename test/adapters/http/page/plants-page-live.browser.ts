import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startApiServer } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { openPlants, row, says } from '../../../support/programs/plants-page.ts';

/* How the page follows the changes of others, also through a proxy that fails, and how many plants it keeps. */

const isLive = (page: Page) => page.getByText('Live', { exact: true });

const LIVE = { state: 'visible' } as const;

test.each([
  [408, '{"error":40800,"message":"the request arrived too slowly"}'],
  [429, 'Too Many Requests'],
  [500, '{"error":50000,"message":"unexpected error"}'],
  [502, '<html>Bad Gateway</html>'],
  [502, '{"error":"bad gateway"}'],
  [502, '{'],
  [200, '<html>Sign in to this network</html>'],
  [200, '{"status":"ok"}'],
  [403, '{"error":"forbidden"}'],
  [404, '<html>Not Found</html>'],
])('goes on after a response of %i with %s', async (status, body) => {
  const plants = fakePlants();
  const { url } = await startApiServer({ plants });
  const { page } = await openPlants(url);
  await page.route('**/changes?*', (route) => route.fulfill({ status, body }));
  // What the page waits for now comes from the service, and what it asks for next from the route.
  await plants.add({ id: 1n, name: 'before' });
  await says(page, `(${status}`);
  await isLive(page).waitFor({ state: 'hidden' });
  await page.unrouteAll();
  await isLive(page).waitFor(LIVE);
  await plants.add({ id: 2n, name: 'after' });
  await row(page, 2).waitFor();
});

test('does not say Live for long while the feed hangs', async () => {
  const plants = fakePlants();
  const { url } = await startApiServer({ plants });
  const { page } = await openPlants(url);
  await page.route('**/changes?*', () => undefined);
  await plants.add({ id: 1n, name: 'before' });
  await row(page, 1).waitFor();
  await isLive(page).waitFor({ state: 'hidden' });
  await says(page, 'No connection to the service. Trying again, which is safe.');
  await page.unrouteAll();
  await isLive(page).waitFor(LIVE);
});

test('keeps 50,000 of 80,000 plants that others add, and goes on with the next ones at its end', async () => {
  const plants = fakePlants();
  const { url } = await startApiServer({ plants });
  const { page } = await openPlants(url);
  await says(page, 'No plants yet.');
  for (let id = 1n; id <= 80_000n; id++) await plants.add({ id, name: 'Ficus' });
  await says(page, '50,000 plants, more below');
  await row(page, 1).waitFor();
  await page.locator('#plants').press('End');
  await says(page, '25,500 plants, more below');
  expect(await page.getByLabel('From id').getAttribute('placeholder')).toBe('25001');
  await page.locator('#plants').press('Home');
  await row(page, 25_001).waitFor();
  await eventually(async () => (await row(page, 25_001).getAttribute('aria-selected')) === 'true');
});
