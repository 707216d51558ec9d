import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import {
  dialog,
  fillIn,
  isActive,
  openPlant,
  openWith,
  press,
  row,
  save,
  says,
  showsForm,
} from '../support/programs/plants-page.ts';

/* That what somebody types on the page is not lost, and which ids it proposes. */

const LAST = 2n ** 63n - 1n;

/** Opens plant 1 and types, as a user does, of whom browsers ask more than of scripts. */
async function edit(page: Page) {
  await openPlant(page, 1, { Name: 'Ficus' });
  await dialog(page).getByLabel('Name').pressSequentially(' carica');
}

/** The page with plant 1 in the editor, and what was typed. */
async function openEdited() {
  const opened = await openWith([{ id: 1n, name: 'Ficus' }]);
  await edit(opened.page);
  return opened;
}

/** Waits until an id is proposed, which an empty field stands for. */
const proposes = (page: Page, id: string) => dialog(page).getByPlaceholder(id, { exact: true }).waitFor();

/** Answers every question of the page with no. */
function refuse(page: Page): string[] {
  const questions: string[] = [];
  page.on('dialog', async (question) => {
    questions.push(question.message());
    await question.dismiss();
  });
  return questions;
}

test('asks before every Escape that would discard edits', async () => {
  const { page } = await openEdited();
  const questions = refuse(page);
  for (const focus of ['#plant-name', '#close', '#plant-name', '#plant-name']) {
    await page.locator(focus).focus();
    await page.keyboard.press('Escape');
  }
  await dialog(page).getByRole('heading').first().click();
  await page.keyboard.press('Escape');
  await press(page, 'Close');
  await showsForm(page, { Name: 'Ficus carica' });
  expect(questions).toEqual(Array(6).fill('Close without saving your changes?'));
});

test('asks before edits are left by a reload, and not once they are saved', async () => {
  const { page } = await openEdited();
  const asked = page.waitForEvent('dialog');
  void page.evaluate('setTimeout(() => location.reload())');
  const question = await asked;
  expect(question.type()).toBe('beforeunload');
  await question.dismiss();
  await showsForm(page, { Name: 'Ficus carica' });
  await press(page, 'Save');
  await dialog(page).waitFor({ state: 'hidden' });
  await page.reload();
  await row(page, 1).getByText('Ficus carica').waitFor();
});

test('takes no text while it saves, and takes it again if that fails', async () => {
  const { stored, page } = await openEdited();
  const answers = Promise.withResolvers<void>();
  let saves = 0;
  await page.route('**/plants/1', async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    if (saves++ > 0) await answers.promise;
    const body = '{"error":40000,"message":"refused"}';
    await (saves === 1 ? route.fulfill({ status: 400, body }) : route.continue());
  });
  const name = dialog(page).getByLabel('Name');
  await name.press('Enter');
  await says(page, '40000: refused');
  await name.press('s');
  await name.press('Enter');
  await eventually(() => saves === 2);
  await page.keyboard.type(' lost');
  expect(await name.inputValue()).toBe('Ficus caricas');
  answers.resolve();
  await row(page, 1).getByText('Ficus caricas').waitFor();
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'Ficus caricas' });
  await openPlant(page, 1, { Name: 'Ficus caricas' });
  await name.pressSequentially(', next');
  await showsForm(page, { Name: 'Ficus caricas, next' });
});

test('is not reached by another page, and asks before a link replaces its token', async () => {
  const { url, page: other } = await openWith([{ id: 1n, name: 'Ficus' }]);
  await other.goto('data:text/html,<p>another page');
  const follow = async (token: string) => {
    const opened = other.context().waitForEvent('page');
    await other.evaluate(`void window.open('${url}/#token=${token}', 'plants')`);
    return opened;
  };
  const page = await follow(TOKEN);
  await edit(page);
  await follow('of-somebody-else');
  await showsForm(page, { Name: 'Ficus carica' });

  const questions = refuse(page);
  await page.evaluate("void (location.hash = 'token=of-somebody-else')");
  await eventually(() => questions.length === 1);
  await page.evaluate(`void (location.hash = 'token=${TOKEN}')`);
  await eventually(() => page.url() === `${url}/`);
  expect(questions).toEqual(['This link signs you in with another token. Use it in place of yours?']);
  await press(page, 'Save');
  await row(page, 1).getByText('Ficus carica').waitFor();
});

test('adds a plant before an id is proposed, and reports nothing in the console', async () => {
  const { stored, page } = await openWith([{ id: 1n, name: 'Ficus' }]);
  const reported: string[] = [];
  page.on('console', (message) => reported.push(message.text()));
  const entered = Promise.withResolvers<void>();
  await page.route('**/plants?order=desc&limit=1', async (route) => {
    await entered.promise;
    await route.continue();
  });
  await press(page, 'Add plant');
  await save(page, { Name: 'Salvia' });
  entered.resolve();
  await row(page, 2).getByText('Salvia').waitFor();
  expect(stored.get(2n)).toEqual({ id: 2n, name: 'Salvia' });
  expect(reported).toEqual([]);
});

test('proposes the id after the highest, and takes a later one if that is taken', async () => {
  const { stored, page } = await openWith([
    { id: 1n, name: 'Ficus', tag: 'tree' },
    { id: 7n, name: 'Pinus' },
  ]);
  await row(page, 1).getByRole('button').click();
  await row(page, 7).waitFor({ state: 'detached' });
  await press(page, 'Add plant');
  await proposes(page, '8');
  // Not by the feed: it may be late.
  stored.set(8n, { id: 8n, name: 'theirs' });
  for (const id of [9n, 10n, 11n]) stored.set(id, 'deleted');
  await save(page, { Name: 'mine', Tag: 'tree' });
  await row(page, 12).getByText('mine').waitFor();

  // The same texts as theirs would be their plant.
  await press(page, 'Add plant');
  await proposes(page, '13');
  stored.set(13n, { id: 13n, name: 'same', tag: 'tree' });
  await save(page, { Name: 'same', Tag: 'tree' });
  await row(page, 14).getByText('same').waitFor();

  // An id of the user's is not replaced.
  await press(page, 'Add plant');
  await save(page, { Id: '9', Name: 'mine' });
  await says(page, 'its id cannot be used again: choose a different one (40010).');
  await showsForm(page, { Id: '9' });
  await save(page, { Id: '7' });
  await says(page, 'Another plant has this id already: choose a different one (40009).');

  // Where the last id is taken, the time is one.
  stored.set(LAST, { id: LAST, name: 'Pinus' });
  page.once('dialog', (question) => question.accept());
  await page.reload();
  await press(page, 'Add plant');
  await eventually(
    async () => Math.abs(Number(await page.locator('#plant-id').getAttribute('placeholder')) - Date.now()) < 60_000,
  );
});

test('adds one plant after another, and shows them, though the table had others', async () => {
  const { page } = await openWith([
    { id: 1n, name: 'Ficus', tag: 'tree' },
    { id: 2n, name: 'Salvia', tag: 'herb' },
  ]);
  await row(page, 1).getByRole('button').click();
  await row(page, 2).waitFor({ state: 'detached' });
  await press(page, 'Add plant');
  await fillIn(page, { Name: 'Mnium', Tag: 'moss' });
  await proposes(page, '3');
  await press(page, 'Add another');
  await dialog(page).getByText('Added 3 Mnium').waitFor();
  await proposes(page, '4');
  await showsForm(page, { Id: '', Name: '', Tag: 'moss' });
  await page.keyboard.type('Hypnum');
  await page.keyboard.press('Enter');
  await isActive(page, 4);
  await row(page, 3).waitFor();
});

test('takes an id with spaces around it, and says what an id is', async () => {
  const { stored, page } = await openWith([{ id: 7n, name: 'Ficus' }]);
  await press(page, 'Add plant');
  for (const text of ['1e3', `${LAST + 1n}`]) {
    await save(page, { Id: text, Name: 'pasted' });
    await says(page, `An id is a whole number from ${-LAST - 1n} to ${LAST}.`);
  }
  await save(page, { Id: ' 9\u00A0' });
  await row(page, 9).waitFor();
  expect(stored.get(9n)).toEqual({ id: 9n, name: 'pasted' });
});

test('saves what was edited alone, and shows what somebody else has changed', async () => {
  // A field would make line feeds of its carriage returns.
  const tag = 'their\rtag';
  const { stored, store, page } = await openWith([
    { id: 1n, name: 'Ficus carica', tag: 'tree' },
    { id: 2n, name: 'mine', tag: 'mine' },
  ]);
  await openPlant(page, 2, { Name: 'mine' });
  await fillIn(page, { Name: 'edited' });
  await store.replace({ id: 2n, name: 'theirs', tag });
  await press(page, 'Save');
  await says(page, 'Somebody else has changed this plant (41200).');
  await showsForm(page, { Name: 'edited', Tag: 'their\ntag' });
  await save(page, { Name: '🌿'.repeat(1_001) });
  await page.locator('#plant-name:invalid').waitFor();
  await save(page, { Name: '🌿'.repeat(1_000) });
  await dialog(page).waitFor({ state: 'hidden' });
  expect(stored.get(2n)).toEqual({ id: 2n, name: '🌿'.repeat(1_000), tag });

  await openPlant(page, 1, { Name: 'Ficus carica' });
  await fillIn(page, { Name: 'Ficus carica, mine' });
  await store.replace({ id: 1n, name: 'Ficus benjamina' });
  await press(page, 'Save');
  await says(page, 'Saving replaces what is stored now.');
  expect(await page.locator('.field + .theirs p').allTextContents()).toEqual(['Ficus benjamina', 'none']);
  await press(page, 'Take what is stored');
  await showsForm(page, { Name: 'Ficus benjamina', Tag: '' });
  await save(page, { Name: 'mine' });
  await dialog(page).waitFor({ state: 'hidden' });
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'mine' });
  await openPlant(page, 1, { Name: 'mine' });
  await store.remove(1n);
  await save(page, { Name: 'late' });
  await says(page, 'This plant was deleted (41000).');
});
