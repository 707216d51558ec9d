import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { open } from '../../../support/programs/browser.ts';
import {
  dialog,
  fillIn,
  openPlants,
  press,
  row,
  says,
  showsForm,
  violations,
} from '../../../support/programs/plants-page.ts';

/* How the page looks, for eyes, keys and screen readers. */

/** `UPDATE_SCREENSHOT=1 npm run test:browser` renews it. */
const screenshot = join(import.meta.dirname, '../../../../docs/page.png');

const SOME = `Monstera deliciosa,houseplant|Pinus longaeva,conifer|Ficus carica,tree|Welwitschia mirabilis|
  Lithops karasmontana,succulent|Quercus robur,tree|Ginkgo biloba,tree|Nepenthes rajah,carnivore|
  Dionaea muscipula,carnivore|Taxus baccata,conifer|Zamioculcas zamiifolia,houseplant|Salvia rosmarinus,herb|
  Ocimum basilicum,herb|Sphagnum magellanicum,moss|Adansonia grandidieri,tree|Victoria amazonica,aquatic`;

/** A service in memory with some plants. */
async function startWithPlants() {
  const plants = SOME.split('|').map((line, n) => {
    const [name = '', tag] = line.trim().split(',');
    return { id: BigInt(n + 1), name, ...(tag !== undefined && { tag }) };
  });
  plants.push({ id: 2n ** 63n - 1n, name: 'Wollemia nobilis', tag: 'conifer' });
  const stored = new Map(plants.map((plant) => [plant.id, plant]));
  return { stored, server: await startApiServer({ plants: fakePlants(stored) }) };
}

/** The row that the keys are for. */
const active = (page: Page) => page.locator('#plants').getAttribute('aria-activedescendant');

const widths = [320, 390, 1440] as const;
const colors = [
  ['light', 'none'],
  ['dark', 'none'],
  ['dark', 'active'],
] as const;

describe.each(widths.flatMap((width) => colors.map(([scheme, forced]) => [width, scheme, forced] as const)))(
  '%i pixels wide and %s, with forced colours %s',
  (width, colorScheme, forcedColors) => {
    test('is accessible in all its states and no wider than the screen', async () => {
      const { server, stored } = await startWithPlants();
      const look = { viewport: { width, height: 844 }, colorScheme, forcedColors };
      const { page: signedOut } = await open(server.url, look);
      await signedOut.getByLabel('Token', { exact: true }).waitFor();
      expect(await violations(signedOut)).toEqual([]);

      const { page } = await openPlants(server.url, TOKEN, look);
      await row(page, 1).waitFor();
      const isFine = async () => {
        expect(await violations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      };
      if (process.env.UPDATE_SCREENSHOT && width === 1440 && colorScheme === 'light') {
        await page.setViewportSize({ width: 1100, height: 560 });
        await page.screenshot({ path: screenshot, animations: 'disabled' });
        await page.setViewportSize(look.viewport);
      }
      await isFine();
      await page.locator('#add').click();
      await isFine();
      await press(page, 'Close');

      await row(page, 1).click();
      await showsForm(page, { Name: 'Monstera deliciosa' });
      await fillIn(page, { Name: 'mine' });
      stored.set(1n, { id: 1n, name: 'theirs' });
      await press(page, 'Save');
      await says(page, '41200: ');
      await isFine();
      await press(page, 'Delete …');
      await isFine();
      await press(page, 'Keep it');
      page.once('dialog', (question) => question.accept());
      await press(page, 'Close');

      await page.getByLabel('From id').fill('999');
      await page.keyboard.press('Enter');
      await says(page, '40401: no plant has the id 999');
      await isFine();
    });
  },
);

test('needs nothing but the keyboard', async () => {
  const { server, stored } = await startWithPlants();
  const { page } = await openPlants(server.url);
  await row(page, 1).waitFor();
  const focusOn = async (id: string) => {
    await eventually(async () => {
      await page.keyboard.press('Tab');
      return page.evaluate<boolean>(`document.activeElement.id === '${id}'`);
    });
  };
  await focusOn('add');
  await page.keyboard.press('Enter');
  await page.keyboard.type('by keys');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.type('100');
  await focusOn('save');
  await page.keyboard.press('Enter');
  await dialog(page).waitFor({ state: 'hidden' });
  expect(stored.get(100n)).toEqual({ id: 100n, name: 'by keys' });

  await focusOn('plants');
  await page.keyboard.press('End');
  expect(await active(page)).toBe(`plant-${2n ** 63n - 1n}`);
  await page.keyboard.press('ArrowUp');
  expect(await active(page)).toBe('plant-100');
  await page.keyboard.press('Enter');
  await showsForm(page, { Name: 'by keys' });
  await focusOn('delete');
  await page.keyboard.press('Enter');
  await says(page, 'This cannot be undone');
  // Whoever presses Enter again without reading keeps it.
  await page.keyboard.press('Enter');
  expect(stored.get(100n)).toEqual({ id: 100n, name: 'by keys' });
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await row(page, 100).waitFor({ state: 'detached' });
  expect(await page.evaluate('document.activeElement.id')).toBe('plants');
  await page.keyboard.press('Home');
  expect(await active(page)).toBe('plant-1');
});

test('chooses by a click, goes on beside a plant that has gone, saves by Enter, and asks before edits are lost', async () => {
  const { server, stored } = await startWithPlants();
  const { page } = await openPlants(server.url);
  const focused = async (id: string) => {
    await eventually(async () => page.evaluate<boolean>(`document.activeElement.id === '${id}'`));
  };
  for (const [key, id, next] of [
    ['ArrowDown', 5, 6],
    ['ArrowUp', 8, 7],
  ] as const) {
    await row(page, id).click();
    await focused('plant-name');
    expect(await active(page)).toBe(`plant-${id}`);
    await press(page, 'Delete …');
    await press(page, 'Delete for good');
    await row(page, id).waitFor({ state: 'detached' });
    await page.locator('#plants').press(key);
    expect(await active(page)).toBe(`plant-${next}`);
  }

  await page.keyboard.press('Enter');
  await focused('plant-name');
  await page.keyboard.press('End');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('second line');
  const questions: string[] = [];
  page.on('dialog', async (question) => {
    questions.push(question.message());
    await question.dismiss();
  });
  await page.keyboard.press('Escape');
  await press(page, 'Close');
  expect(questions).toEqual(Array(2).fill('Close without saving your changes?'));
  await dialog(page).getByLabel('Name', { exact: true }).press('Enter');
  await dialog(page).waitFor({ state: 'hidden' });
  expect(stored.get(7n)?.name).toBe('Ginkgo biloba\nsecond line');
  await page.keyboard.press('Enter');
  await focused('plant-name');
  await press(page, 'Close');
  await dialog(page).waitFor({ state: 'hidden' });
  expect(questions).toHaveLength(2);
});

test('opens a plant in the moment in which the editor of another one closes', async () => {
  const { server } = await startWithPlants();
  const { page } = await openPlants(server.url);
  await row(page, 1).click();
  await showsForm(page, { Name: 'Monstera deliciosa' });
  await page.evaluate("document.getElementById('close').click(), document.getElementById('plant-2').click()");
  await showsForm(page, { Name: 'Pinus longaeva' });
});
