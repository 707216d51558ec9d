import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startApiServer } from '../../../support/api-server.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { fillIn, openPlants, press, row, says, showsForm } from '../../../support/programs/plants-page.ts';

/* Search on the page, against a service whose pages are searched in small steps: often they come empty, with a link. */

/** Plants that are looked at for a page. */
const STEP = 1_000;

type Stored = Map<bigint, { id: bigint; name: string; tag?: string }>;

async function openSearch() {
  const stored: Stored = new Map(
    Array.from({ length: 4_000 }, (_, n) => [BigInt(n), { id: BigInt(n), name: `Ficus ${n}`, tag: 'tree' }]),
  );
  const plants = fakePlants(stored);
  const { page } = await openPlants((await startApiServer({ plants })).url);
  await row(page, 0).waitFor();
  return { stored, plants, page };
}

/** Responds to searches, once the test lets each pass. */
async function searches(page: Page, stored: Stored, mayPass: (query: URLSearchParams) => Promise<unknown>) {
  await page.route(/plants\?.*name=/, async (route) => {
    const { searchParams: query } = new URL(route.request().url());
    await mayPass(query);
    const [after, name, tag] = [
      BigInt(query.get('after') ?? -1),
      query.get('name')?.toLowerCase() ?? '',
      query.get('tag'),
    ];
    const all = [...stored.values()].filter(({ id }) => id > after).sort((a, b) => Number(a.id - b.id));
    const looked = all.slice(0, STEP);
    const found = looked.filter(
      (plant) => plant.name.toLowerCase().includes(name) && (tag === null || plant.tag === tag),
    );
    const link = all.length > STEP && { Link: `<?limit=500&after=${looked.at(-1)?.id}&name=x>; rel="next"` };
    const body = JSON.stringify(found, (_, value) => (typeof value === 'bigint' ? Number(value) : value));
    await route.fulfill({ body, headers: { ...link, Allow: 'GET, HEAD, POST' } }).catch(() => {});
  });
}

const field = (page: Page) => page.getByLabel('Name', { exact: true }).first();
const ids = (page: Page) =>
  page.locator('#rows tr').evaluateAll((rows) => rows.map(({ id }) => id.slice('plant-'.length)));

test('finds plants by a part of their name, with the tag filter, and shows that it goes on searching', async () => {
  const { stored, page } = await openSearch();
  stored.set(3_500n, { id: 3_500n, name: 'Primrosa', tag: 'herb' });
  stored.set(3_600n, { id: 3_600n, name: 'Rosa canina', tag: 'tree' });
  const seen = Promise.withResolvers<void>();
  await searches(page, stored, (query) => (query.has('after') ? seen.promise : Promise.resolve()));
  await field(page).fill('ROSA');
  await says(page, 'Searching …');
  await says(page, '0 plants, searching …');
  seen.resolve();
  await row(page, 3_600).waitFor();
  await says(page, '2 plants');
  expect(await ids(page)).toEqual(['3500', '3600']);

  await row(page, 3_500).getByRole('button').click();
  await says(page, '1 plant');
  expect([await field(page).inputValue(), await ids(page)]).toEqual(['ROSA', ['3500']]);
  await field(page).fill('no such plant');
  await says(page, 'No plants match.');
  await press(page, 'Show all');
  await row(page, 0).waitFor();
  expect(await field(page).inputValue()).toBe('');
});

test('keeps an id that is none while one types a name, and says so', async () => {
  const { page } = await openSearch();
  await page.getByLabel('From id').fill('1e3');
  await field(page).fill('ficus');
  await says(page, 'An id is a whole number');
  expect(await page.getByLabel('From id').inputValue()).toBe('1e3');
});

test('leaves an older search when one types on', async () => {
  const { stored, page } = await openSearch();
  stored.set(5n, { id: 5n, name: 'Rosa' });
  await searches(page, stored, async (query) => query.get('name') === 'ro' && new Promise(() => {}));
  const older = page.waitForRequest(/name=ro&|name=ro$/);
  const left = page.waitForEvent('requestfailed');
  await field(page).fill('ro');
  await older;
  await field(page).pressSequentially('sa');
  expect((await left).url()).toContain('name=ro');
  await says(page, '1 plant');
  expect(await ids(page)).toEqual(['5']);
});

test('says that plants have changed, and searches again only when asked to', async () => {
  const { stored, plants, page } = await openSearch();
  stored.set(5n, { id: 5n, name: 'Rosa' });
  let asked = 0;
  await searches(page, stored, async () => asked++);
  await field(page).fill('rosa');
  await page.getByText('1 plant', { exact: true }).waitFor();
  expect(await ids(page)).toEqual(['5']);
  await row(page, 5).click();
  await showsForm(page, { Name: 'Rosa' });
  await fillIn(page, { Name: 'Rosa alba' });
  await press(page, 'Save');
  await row(page, 5).getByText('alba').waitFor();
  const again = page.getByRole('button', { name: 'Plants have changed: search again' });
  expect(await again.isVisible()).toBe(false);
  const before = asked;
  await plants.add({ id: 10_000n, name: 'Salvia' });
  await plants.add({ id: 10_001n, name: 'Rosa rugosa' });
  await again.waitFor();
  expect([await ids(page), asked]).toEqual([['5'], before]);
  await again.click();
  await row(page, 10_001).waitFor();
  expect(await ids(page)).toEqual(['5', '10001']);
  expect(asked).toBeGreaterThan(before);
  expect(await again.isVisible()).toBe(false);
  await plants.remove(5n);
  await row(page, 5).waitFor({ state: 'detached' });
  await plants.replace({ id: 10_001n, name: 'Salvia' }, () => true);
  await row(page, 10_001).waitFor({ state: 'detached' });
});
