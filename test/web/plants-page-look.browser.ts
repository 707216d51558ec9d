import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import axe from 'axe-core';
import { allPermissions } from '../../src/application/permissions.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { pageWorkbooks } from '../support/plants/collectors-lists.ts';
import { openPage, openWith, type PlantsPage } from '../support/programs/plants-page.ts';

/* How the page looks, for eyes, keys and screen readers. */

/** `UPDATE_SCREENSHOT=1 npm run test:browser` renews it. */
const screenshot = join(import.meta.dirname, '../../docs/page.png');

const SOME = `Monstera deliciosa,houseplant|Pinus longaeva,conifer|Ficus carica,tree|Welwitschia mirabilis|
  Lithops karasmontana,succulent|Quercus robur,tree|Ginkgo biloba,tree|Nepenthes rajah,carnivore|
  Dionaea muscipula,carnivore|Taxus baccata,conifer|Zamioculcas zamiifolia,houseplant|Salvia rosmarinus,herb|
  Ocimum basilicum,herb|Sphagnum magellanicum,moss|Adansonia grandidieri of the avenue,tree|Victoria amazonica,aquatic`;

const PLANTS: NewPlant[] = SOME.split('|').map((line, n) => {
  const [name = '', tag] = line.trim().split(',');
  return { id: BigInt(n + 1), name, ...(tag !== undefined && { tag }) };
});
PLANTS.push({ id: 2n ** 63n - 1n, name: 'Wollemia nobilis', tag: 'conifer' });

/** What axe-core finds wrong with the page, or the dialog that is open, also by a rule that it does not apply by itself. */
async function violations(page: PlantsPage, rule = 'target-size'): Promise<string[]> {
  if (!(await page.evaluate('window.axe'))) await page.evaluate(axe.source);
  return page.evaluate<string[]>(
    `axe.run([...document.querySelectorAll('dialog[open]')].at(-1) ?? document, { rules: { '${rule}': { enabled: true } } }).then(({ violations }) => violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(' ')))`,
  );
}

/** What scrolls sideways. */
const WIDER_THAN_IT_SHOWS = `[...document.querySelectorAll('html, dialog')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ outerHTML }) => outerHTML.slice(0, 50))`;

const LOOKS = [320, 1280].flatMap((width) => [
  { width, colorScheme: 'light', forcedColors: 'active' } as const,
  { width, colorScheme: 'dark', forcedColors: 'none' } as const,
  { width, colorScheme: 'light', forcedColors: 'none' } as const,
]);

/** Checks a state of the page, once it says this, in every look. */
async function isAccessible(page: PlantsPage, text: string): Promise<void> {
  await page.says(text);
  for (const { width, ...media } of LOOKS) {
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia(media);
    const found = {
      violations: await violations(page),
      wider: await page.evaluate(WIDER_THAN_IT_SHOWS),
    };
    expect({ text, media, ...found }).toEqual({ text, media, violations: [], wider: [] });
  }
}

const pressInDialog = (page: PlantsPage, name: string) =>
  page.locator('dialog[open]').last().getByRole('button', { name, exact: true }).click();

test('is accessible without token or plants, with a list, a selection, an undo', async () => {
  const { url, page } = await openWith(PLANTS);
  const { page: signedOut } = await openPage(url);
  await isAccessible(signedOut, 'Access token');
  const { page: empty } = await openWith();
  await isAccessible(empty, 'Try it with twelve plants');

  await isAccessible(page, '17 plants');
  if (process.env.UPDATE_SCREENSHOT) {
    await page.setViewportSize({ width: 1100, height: 560 });
    await page.screenshot({ path: screenshot, animations: 'disabled' });
  }
  await page.row(2).getByRole('checkbox').check();
  await isAccessible(page, '1 selected');
  await page.pressButton('Clear');
  await page.openPlant(15, { Tag: 'tree' });
  await page.pressButton('Delete');
  await isAccessible(page, 'will be deleted in ten seconds');
  await page.getByLabel('Find').fill('rosa');
  await isAccessible(page, 'No plants match.');
});

test('is accessible in another order, with a filter, and on paper', async () => {
  const { page } = await openWith(PLANTS);
  await page.head('Name').click();
  await page.locator('#tags').getByText('tree').click();
  await isAccessible(page, '4 of 17 plants');
  await page.evaluate('dispatchEvent(new Event("beforeprint"))');
  await page.emulateMedia({ media: 'print' });
  await isAccessible(page, 'Plant Store: 4 of 17 plants');
});

test('is accessible in its dialogs', async () => {
  const { stored, page } = await openWith(PLANTS);
  await page.pressButton('Add plant');
  await isAccessible(page, 'Add a plant');
  await pressInDialog(page, 'Close');
  await page.openPlant(1, { Name: 'Monstera deliciosa' });
  await page.fillIn({ Name: 'mine' });
  stored.set(1n, { id: 1n, name: 'theirs' });
  await page.pressButton('Save');
  await isAccessible(page, 'Saving replaces what is stored now.');
  await pressInDialog(page, 'Delete');
  await page.pressButton('Undo');

  await page.locator('#plants').press('Control+a');
  await page.pressButton('Set tag …');
  await isAccessible(page, 'different tags');
  await pressInDialog(page, 'Close');
  await page.pressButton('Delete …');
  await isAccessible(page, 'cannot be undone');
  for (const id of [1n, 2n]) stored.set(id, { id, name: 'theirs, too' });
  await pressInDialog(page, 'Delete for good');
  await isAccessible(page, '2 refused.');
  await pressInDialog(page, 'Close');
});

/** Contents of lists, and what the dialog says of them. */
const LISTS = [
  ['This list is empty.', ''],
  ['Is Menge the id?', 'Art,Menge\nRosa,7\n'],
  ['choose the line that reads right', 'name\nFlei\xdfiges Lieschen\n'],
  ['Its sheet', pageWorkbooks.at(-1)?.list.toString('latin1')],
  ['Ids that come twice', 'id,name\n7,Rosa\n7,Salvia\n8,\n'],
  ['The first ones that are replaced', 'id,name,tag\n1,Monstera adansonii,\nx,Salvia,herb\n'],
] as const;

test('is accessible while it imports and downloads', async () => {
  const { page } = await openWith([...PLANTS, { id: 100n, name: '00012' }]);
  await page.pressButton('Download');
  await isAccessible(page, 'All plants');
  await pressInDialog(page, 'Download');
  await isAccessible(page, 'Spreadsheets would alter');
  await pressInDialog(page, 'Close');
  await page.pressButton('Import');
  await isAccessible(page, 'Choose a list, or drop it on this page');
  for (const [text, list] of LISTS) {
    await page.drop('list', `[Uint8Array.from(${JSON.stringify(list)}, (octet) => octet.charCodeAt(0))]`);
    if (text.endsWith('replaced')) await page.dialog().getByLabel('are replaced').check();
    await isAccessible(page, text);
  }
  await page.route(/import\?/, () => {});
  await pressInDialog(page, 'Import');
  await isAccessible(page, 'Importing …');
  await pressInDialog(page, 'Stop');
  await isAccessible(page, 'Import stopped');
  await page.unroute(/import\?/);
  await pressInDialog(page, 'Continue');
  await isAccessible(page, 'Import finished');
}, 600_000);

test('is accessible in each trouble, and saves what was typed before it', async () => {
  let accepted = TOKEN;
  const verifyToken = (token: string) => (token === accepted ? { permissions: allPermissions } : undefined);
  const { page, store, stored } = await openWith(PLANTS, { verifyToken });
  const held = { changes: [], next: '1', atEnd: true, heldBackSeconds: 1_234 };
  await page.route('**/changes?*', (route) => route.fulfill({ json: held }));
  // The request that waits comes from the service.
  await store.add({ id: 1_000n, name: 'before' });
  await page.says('Live, held back for 1,234 s');
  await isAccessible(page, 'the database is busy with a long task');
  await page.unrouteAll();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.openPlant(1, { Name: 'Monstera deliciosa' });
  await page.fillIn({ Name: 'mine' });
  await page.context().setOffline(true);
  await page.pressButton('Save');
  await isAccessible(page, 'This device is offline. Trying again …');
  await page.route(/plants|changes|tags/, (route) => route.fulfill({ status: 401, body: '<h1>Sign in</h1>' }));
  await page.context().setOffline(false);
  await isAccessible(page, 'You are signed out');
  accepted = 'a-token-that-is-new';
  await page.unrouteAll();
  await pressInDialog(page, 'Try again');
  await isAccessible(page, 'What you have typed is kept.');
  // It is not closed without a token, which would leave nothing to do.
  await page.keyboard.press('Escape');
  await page.signIn(accepted);
  await page.row(1).getByText('mine').waitFor();
  expect(stored.get(1n)).toMatchObject({ name: 'mine' });
});

/** How the borders of these, and the text, contrast with what is behind them, from 1 to 21. */
const CONTRASTS = `['.limit', '#plants', '#rows tr', '#keys kbd', '#close'].map((selector) => {
  const luminance = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map((part) => (part / 255) ** 2.2);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const { borderBottomColor } = getComputedStyle(document.querySelector(selector));
  const [edge, ground] = [borderBottomColor, getComputedStyle(document.body).backgroundColor].map(luminance);
  return Math.max(edge, ground) / Math.min(edge, ground);
})`;

test('has stronger borders and texts for those who want more contrast', async () => {
  const { page } = await openWith(PLANTS, { look: { colorScheme: 'dark', contrast: 'more' } });
  await page.openPlant(1, { Name: 'Monstera deliciosa' });
  expect(await violations(page, 'color-contrast-enhanced')).toEqual([]);
  expect(Math.min(...(await page.evaluate<number[]>(CONTRASTS)))).toBeGreaterThan(4.5);
  await page.emulateMedia({ contrast: 'no-preference' });
  expect(Math.max(...(await page.evaluate<number[]>(CONTRASTS)))).toBeLessThan(4.5);
});

/** Whether the rows at both edges of the table are seen as a whole. */
const WHOLE_ROWS = `(() => {
  const [grid, body] = [document.getElementById('plants'), document.getElementById('rows')];
  const bottom = grid.getBoundingClientRect().top + grid.clientTop + grid.clientHeight;
  const top = bottom - grid.clientHeight + body.offsetTop;
  const rows = Array.from(body.children, (row) => row.getBoundingClientRect());
  const cut = (edge) => rows.some((row) => row.top < edge - 0.5 && row.bottom > edge + 0.5);
  return !cut(top) && !cut(bottom) && bottom <= innerHeight && rows.some((row) => row.bottom <= bottom);
})()`;

test('cuts no row at the edges of the table, nor the last one at its end', async () => {
  const { page } = await openWith(Array.from({ length: 100 }, (_, n) => ({ id: BigInt(n + 1), name: `Ficus ${n}` })));
  for (const [width, height] of [
    [320, 700],
    [320, 717],
    [1440, 733],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.evaluate('document.getElementById("plants").scrollTop = 0');
    await eventually(() => page.evaluate<boolean>(WHOLE_ROWS));
    await page.evaluate('document.getElementById("plants").scrollTop = 1e6');
    await page.row(100).waitFor();
    await eventually(() => page.evaluate<boolean>(WHOLE_ROWS));
    const [last, grid] = [await page.row(100).boundingBox(), await page.locator('#plants').boundingBox()];
    expect((last?.y ?? 0) + (last?.height ?? 0)).toBeLessThanOrEqual((grid?.y ?? 0) + (grid?.height ?? 0));
  }
});

test('needs nothing but the keyboard', async () => {
  const { stored, page } = await openWith(PLANTS);
  await page.row(1).waitFor();
  const focusOn = async (id: string) => {
    await eventually(async () => {
      await page.keyboard.press('Tab');
      return page.evaluate<boolean>(`document.activeElement.id === '${id}'`);
    });
  };
  await focusOn('add');
  await page.keyboard.press('Enter');
  await page.keyboard.type('by');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('keys');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.type('100');
  await focusOn('save');
  await page.keyboard.press('Enter');
  await page.dialog().waitFor({ state: 'hidden' });
  expect(stored.get(100n)).toEqual({ id: 100n, name: 'by\nkeys' });
  await focusOn('plants');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowUp');
  await page.isActive(100);
  await page.keyboard.press('Enter');
  await page.showsForm({ Name: 'by\nkeys' });
  await focusOn('delete');
  await page.keyboard.press('Enter');
  await page.says('will be deleted in ten seconds');
  await page.keyboard.press('Control+z');
  await page.locator('#plant-100:not(.leaving)').waitFor();
  expect(stored.has(100n)).toBe(true);
  await page.keyboard.press('Home');
  await page.isActive(1);
  await page.keyboard.press('Space');
  await page.keyboard.press('Shift+ArrowDown');
  await page.says('2 selected');
  await focusOn('tag-selected');
  await page.keyboard.press('Enter');
  await page.keyboard.type('by keys');
  await page.keyboard.press('Enter');
  await page.dialog().waitFor({ state: 'hidden' });
  expect([1n, 2n, 3n].map((id) => stored.get(id))).toMatchObject(
    ['by keys', 'by keys', 'tree'].map((tag) => ({ tag })),
  );
  await page.locator('#plants:focus').waitFor();
});

test('opens a plant in the moment in which the editor of another one closes', async () => {
  const { page } = await openWith(PLANTS);
  await page.openPlant(1, { Name: 'Monstera deliciosa' });
  await page.evaluate("document.getElementById('close').click(), document.getElementById('plant-2').click()");
  await page.showsForm({ Name: 'Pinus longaeva' });
});
