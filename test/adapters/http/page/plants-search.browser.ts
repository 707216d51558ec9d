import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../../../support/eventually.ts';
import {
  fillIn,
  openPlant,
  openWith,
  press,
  row,
  save,
  says,
  showsForm,
} from '../../../support/programs/plants-page.ts';

/* Search on the page. */

const PLANTS = [
  { id: 1n, name: 'Ficus', tag: 'tree' },
  { id: 5n, name: 'Rosa', tag: 'shrub' },
  { id: 6n, name: 'Primrosa', tag: 'herb' },
];

async function openSearch() {
  const { store: plants, page } = await openWith(PLANTS);
  await row(page, 1).waitFor();
  return { plants, page };
}

const field = (page: Page) => page.getByLabel('Name', { exact: true }).first();
const ids = (page: Page) =>
  page.locator('#rows tr').evaluateAll((rows) => rows.map(({ id }) => Number(id.slice('plant-'.length))));

test('finds plants by a part of their name, with the tag filter, and shows that it goes on searching', async () => {
  const { page } = await openSearch();
  const seen = Promise.withResolvers<void>();
  // A service that has many plants gives pages in small steps: often they come empty, with a link.
  const headers = { Link: '<?limit=500&after=2&name=x>; rel="next"', Allow: 'GET, HEAD, POST' };
  await page.route(/plants\?.*name=/, async (route) => {
    if (!route.request().url().includes('after=2')) return route.fulfill({ body: '[]', headers });
    await seen.promise;
    await route.continue();
  });
  await field(page).fill('ROSA');
  await says(page, 'Searching …');
  await says(page, '0 plants, searching …');
  seen.resolve();
  await row(page, 6).waitFor();
  await says(page, '2 plants');
  expect(await ids(page)).toEqual([5, 6]);

  await row(page, 6).getByRole('button').click();
  await says(page, '1 plant');
  expect([await field(page).inputValue(), await ids(page)]).toEqual(['ROSA', [6]]);
  await field(page).fill('no such plant');
  await says(page, 'No plants match.');
  await press(page, 'Show all');
  await row(page, 1).waitFor();
  expect(await field(page).inputValue()).toBe('');
});

test('keeps an id that is none while one types a name, and says so', async () => {
  const { page } = await openSearch();
  await page.getByLabel('From id').fill('1e3');
  await field(page).fill('ficus');
  await says(page, 'An id is a whole number');
  expect(await page.getByLabel('From id').inputValue()).toBe('1e3');
});

test('says that plants have changed, and searches again only when asked to', async () => {
  const { plants, page } = await openSearch();
  let asked = 0;
  page.on('request', (sent) => {
    if (/plants\?.*name=/.test(sent.url())) asked++;
  });
  await field(page).fill('rosa');
  await says(page, '2 plants');
  await openPlant(page, 5, { Name: 'Rosa' });
  await save(page, { Name: 'Rosa alba' });
  await row(page, 5).getByText('alba').waitFor();
  const again = page.getByRole('button', { name: 'Plants have changed: search again' });
  expect(await again.isVisible()).toBe(false);
  await plants.add({ id: 7n, name: 'Salvia' });
  await plants.add({ id: 8n, name: 'Rosa rugosa' });
  await again.waitFor();
  expect([await ids(page), asked]).toEqual([[5, 6], 1]);
  await again.click();
  await row(page, 8).waitFor();
  expect([await ids(page), asked]).toEqual([[5, 6, 8], 2]);
  expect(await again.isVisible()).toBe(false);
  await plants.remove(5n);
  await row(page, 5).waitFor({ state: 'detached' });
  await plants.replace({ id: 8n, name: 'Salvia' }, () => true);
  await row(page, 8).waitFor({ state: 'detached' });
});

test('offers the tags in use to click and while one types, in the table and in the editor, and those that come later', async () => {
  const { plants, page } = await openSearch();
  const offered = (where: string) => page.locator(`#${where} button`).allTextContents();
  await eventually(async () => `${await offered('tags')}` === 'herb,shrub,tree');
  await page.locator('#tags').getByText('shrub').click();
  await page.getByText('1 plant', { exact: true }).waitFor();
  expect([await ids(page), await offered('tags')]).toEqual([[5], []]);
  await press(page, 'Show all');
  await plants.add({ id: 7n, name: 'Salix', tag: 'tree' });
  await plants.add({ id: 8n, name: 'Bellis', tag: 'herbs' });
  await eventually(async () => `${await offered('tags')}` === 'tree,herb,herbs,shrub');
  await page.getByLabel('Tag', { exact: true }).first().fill('HER');
  expect(await offered('tags')).toEqual(['herb', 'herbs']);

  await openPlant(page, 1, { Tag: 'tree' });
  await fillIn(page, { Tag: 'shr' });
  expect(await offered('plant-tags')).toEqual(['shrub']);
  await page.locator('#plant-tags').getByText('shrub').click();
  await showsForm(page, { Tag: 'shrub' });
  await press(page, 'Save');
  await row(page, 1).getByText('shrub').waitFor();
});
