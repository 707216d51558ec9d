import { expect, test } from '@jest/globals';
import { TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { openWith, type PlantsPage, plantsPage } from '../support/programs/plants-page.ts';

/* That what somebody types on the page is not lost, and which ids it proposes. */

const LAST = 2n ** 63n - 1n;

/** Opens plant 1 and types, as a user does, of whom browsers ask more than of scripts. */
async function edit(page: PlantsPage) {
  await page.openPlant(1, { Name: 'Ficus' });
  await page.dialog().getByLabel('Name').pressSequentially(' carica');
}

/** The page with plant 1 in the editor, and what was typed. */
async function openEdited() {
  const opened = await openWith([{ id: 1n, name: 'Ficus' }]);
  await edit(opened.page);
  return opened;
}

/** Waits until an id is proposed, which an empty field stands for. */
const proposes = (page: PlantsPage, id: string) => page.dialog().getByPlaceholder(id, { exact: true }).waitFor();

/** Answers every question of the page with no. */
function refuse(page: PlantsPage): string[] {
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
  await page.dialog().getByRole('heading').first().click();
  await page.keyboard.press('Escape');
  await page.pressButton('Close');
  await page.showsForm({ Name: 'Ficus carica' });
  expect(questions).toEqual(Array(6).fill('Close without saving your changes?'));
});

test('asks before edits are left by a reload, and not once they are saved', async () => {
  const { page } = await openEdited();
  const asked = page.waitForEvent('dialog');
  void page.evaluate('setTimeout(() => location.reload())');
  const question = await asked;
  expect(question.type()).toBe('beforeunload');
  await question.dismiss();
  await page.showsForm({ Name: 'Ficus carica' });
  await page.pressButton('Save');
  await page.dialog().waitFor({ state: 'hidden' });
  await page.reload();
  await page.row(1).getByText('Ficus carica').waitFor();
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
  const name = page.dialog().getByLabel('Name');
  await name.press('Enter');
  await page.says('40000: refused');
  await name.press('s');
  await name.press('Enter');
  await eventually(() => saves === 2);
  await page.keyboard.type(' lost');
  expect(await name.inputValue()).toBe('Ficus caricas');
  answers.resolve();
  await page.row(1).getByText('Ficus caricas').waitFor();
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'Ficus caricas' });
  await page.openPlant(1, { Name: 'Ficus caricas' });
  await name.pressSequentially(', next');
  await page.showsForm({ Name: 'Ficus caricas, next' });
});

test('is not reached by another page, and asks before a link replaces its token', async () => {
  const { url, page: other } = await openWith([{ id: 1n, name: 'Ficus' }]);
  await other.goto('data:text/html,<p>another page');
  const follow = async (token: string) => {
    const opened = other.context().waitForEvent('page');
    await other.evaluate(`void window.open('${url}/#token=${token}', 'plants')`);
    return plantsPage(await opened);
  };
  const page = await follow(TOKEN);
  await edit(page);
  await follow('of-somebody-else');
  await page.showsForm({ Name: 'Ficus carica' });

  const questions = refuse(page);
  await page.evaluate("void (location.hash = 'token=of-somebody-else')");
  await eventually(() => questions.length === 1);
  await page.evaluate(`void (location.hash = 'token=${TOKEN}')`);
  await eventually(() => page.url() === `${url}/`);
  expect(questions).toEqual(['This link signs you in with another token. Use it in place of yours?']);
  await page.pressButton('Save');
  await page.row(1).getByText('Ficus carica').waitFor();
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
  await page.pressButton('Add plant');
  await page.save({ Name: 'Salvia' });
  entered.resolve();
  await page.row(2).getByText('Salvia').waitFor();
  expect(stored.get(2n)).toEqual({ id: 2n, name: 'Salvia' });
  expect(reported).toEqual([]);
});

test('proposes the id after the highest, and takes a later one if that is taken', async () => {
  const { stored, page } = await openWith([
    { id: 1n, name: 'Ficus', tag: 'tree' },
    { id: 7n, name: 'Pinus' },
  ]);
  await page.row(1).getByRole('button').click();
  await page.row(7).waitFor({ state: 'detached' });
  await page.pressButton('Add plant');
  await proposes(page, '8');
  // Not by the feed: it may be late.
  stored.set(8n, { id: 8n, name: 'theirs' });
  for (const id of [9n, 10n, 11n]) stored.set(id, 'deleted');
  await page.save({ Name: 'mine', Tag: 'tree' });
  await page.row(12).getByText('mine').waitFor();

  // The same texts as theirs would be their plant.
  await page.pressButton('Add plant');
  await proposes(page, '13');
  stored.set(13n, { id: 13n, name: 'same', tag: 'tree' });
  await page.save({ Name: 'same', Tag: 'tree' });
  await page.row(14).getByText('same').waitFor();

  // An id of the user's is not replaced.
  await page.pressButton('Add plant');
  await page.save({ Id: '9', Name: 'mine' });
  await page.says('its id cannot be used again: choose a different one (40010).');
  await page.showsForm({ Id: '9' });
  await page.save({ Id: '7' });
  await page.says('Another plant has this id already: choose a different one (40009).');

  // Where the last id is taken, the time is one.
  stored.set(LAST, { id: LAST, name: 'Pinus' });
  page.once('dialog', (question) => question.accept());
  await page.reload();
  await page.pressButton('Add plant');
  await eventually(
    async () => Math.abs(Number(await page.locator('#plant-id').getAttribute('placeholder')) - Date.now()) < 60_000,
  );
});

test('adds one plant after another, and shows them, though the table had others', async () => {
  const { page } = await openWith([
    { id: 1n, name: 'Ficus', tag: 'tree' },
    { id: 2n, name: 'Salvia', tag: 'herb' },
  ]);
  await page.row(1).getByRole('button').click();
  await page.row(2).waitFor({ state: 'detached' });
  await page.pressButton('Add plant');
  await page.fillIn({ Name: 'Mnium', Tag: 'moss' });
  await proposes(page, '3');
  await page.pressButton('Add another');
  await page.dialog().getByText('Added 3 Mnium').waitFor();
  await proposes(page, '4');
  await page.showsForm({ Id: '', Name: '', Tag: 'moss' });
  await page.keyboard.type('Hypnum');
  await page.keyboard.press('Enter');
  await page.isActive(4);
  await page.row(3).waitFor();
});

test('takes an id with spaces around it, and says what an id is', async () => {
  const { stored, page } = await openWith([{ id: 7n, name: 'Ficus' }]);
  await page.pressButton('Add plant');
  for (const text of ['1e3', `${LAST + 1n}`]) {
    await page.save({ Id: text, Name: 'pasted' });
    await page.says(`An id is a whole number from ${-LAST - 1n} to ${LAST}.`);
  }
  await page.save({ Id: ' 9\u00A0' });
  await page.row(9).waitFor();
  expect(stored.get(9n)).toEqual({ id: 9n, name: 'pasted' });
});

test('saves what was edited alone, and shows what somebody else has changed', async () => {
  // A field would make line feeds of its carriage returns.
  const tag = 'their\rtag';
  const { stored, store, page } = await openWith([
    { id: 1n, name: 'Ficus carica', tag: 'tree' },
    { id: 2n, name: 'mine', tag: 'mine' },
  ]);
  await page.openPlant(2, { Name: 'mine' });
  await page.fillIn({ Name: 'edited' });
  await store.replace({ id: 2n, name: 'theirs', tag });
  await page.pressButton('Save');
  await page.says('Somebody else has changed this plant (41200).');
  await page.showsForm({ Name: 'edited', Tag: 'their\ntag' });
  await page.save({ Name: '🌿'.repeat(1_001) });
  await page.locator('#plant-name:invalid').waitFor();
  await page.save({ Name: '🌿'.repeat(1_000) });
  await page.dialog().waitFor({ state: 'hidden' });
  expect(stored.get(2n)).toEqual({ id: 2n, name: '🌿'.repeat(1_000), tag });

  await page.openPlant(1, { Name: 'Ficus carica' });
  await page.fillIn({ Name: 'Ficus carica, mine' });
  await store.replace({ id: 1n, name: 'Ficus benjamina' });
  await page.pressButton('Save');
  await page.says('Saving replaces what is stored now.');
  expect(await page.locator('.field + .theirs p').allTextContents()).toEqual(['Ficus benjamina', 'none']);
  await page.pressButton('Take what is stored');
  await page.showsForm({ Name: 'Ficus benjamina', Tag: '' });
  await page.save({ Name: 'mine' });
  await page.dialog().waitFor({ state: 'hidden' });
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'mine' });
  await page.openPlant(1, { Name: 'mine' });
  await store.remove(1n);
  await page.save({ Name: 'late' });
  await page.says('This plant was deleted (41000).');
});
