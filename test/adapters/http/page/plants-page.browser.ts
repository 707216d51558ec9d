import { describe, expect, test } from '@jest/globals';
import { apiClient } from '../../../support/api-client.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import {
  addPlant,
  cells,
  databases,
  dialog,
  fillIn,
  openPlants,
  press,
  READ_TOKEN,
  row,
  says,
  showsForm,
} from '../../../support/programs/plants-page.ts';

/* What people do on the page, in a real Chromium against the whole service. */

const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];

describe.each(databases)('on %s', (_name, start) => {
  const service = forEachTest(() => start());
  const others = forEachTest(async () => apiClient(service.apiUrl));

  const create = (id: bigint | number, name: string, tag?: string) =>
    others.send('POST', '/plants', { body: `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}` });
  const change = (id: bigint | number, name: string, tag?: string) =>
    others.send('PUT', `/plants/${id}`, { body: JSON.stringify({ name, tag }) });
  const stored = async (id: bigint | number) => (await others.send('GET', `/plants/${id}`)).body;

  test('adds plants with ids at both ends of int64, changes one and deletes the other', async () => {
    const { page } = await openPlants(service.apiUrl);
    await says(page, 'No plants yet.');
    await addPlant(page, LAST, 'Pinus longaeva', 'conifer');
    await row(page, LAST).waitFor();
    await addPlant(page, FIRST, 'Welwitschia');
    await row(page, FIRST).waitFor();
    expect(await stored(LAST)).toBe('{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}');
    expect(await page.getByRole('row').allTextContents()).toEqual([
      'IdNameTag',
      '-9223372036854775808Welwitschia',
      '9223372036854775807Pinus longaevaconifer',
    ]);

    await row(page, LAST).click();
    await showsForm(page, { Id: `${LAST}`, Name: 'Pinus longaeva', Tag: 'conifer' });
    await fillIn(page, { Name: '' });
    await press(page, 'Save');
    expect(await page.locator('#plant-name').evaluate((name) => name.matches(':user-invalid'))).toBe(true);
    expect(await stored(LAST)).toContain('Pinus longaeva');
    await fillIn(page, { Name: 'Pinus\naristata', Tag: '' });
    await press(page, 'Save');
    await row(page, LAST).getByText('aristata').waitFor();
    expect(await stored(LAST)).toBe('{"id":9223372036854775807,"name":"Pinus\\naristata"}');

    await row(page, FIRST).click();
    await press(page, 'Delete …');
    await says(page, 'This cannot be undone');
    await press(page, 'Keep it');
    expect(await stored(FIRST)).toContain('Welwitschia');
    await press(page, 'Delete …');
    await press(page, 'Delete for good');
    await row(page, FIRST).waitFor({ state: 'detached' });
    expect(await stored(FIRST)).toContain('"error":41000');
  });

  test('shows every text as it is stored, and leaves it so', async () => {
    const names = [
      '<img src=x onerror=alert(1)><script>alert(2)</script>',
      'שלום עולם',
      '🌱🪴',
      'a  b',
      '',
      'क्\u200Dष',
      'می\u200Cخواهم',
      '👩‍🌾❤️',
    ];
    for (const [n, name] of names.entries()) await create(n + 1, name, name);
    await create(100, 'tab\tline\ncarriage\r\u0001\u007f', '');
    await create(102, 'a\u202Eb\u2066c\u200Bd\u2060e\uFEFFf\u00ADg');
    const unseen = { '\u3164': 'U+3164', '\u2062': 'U+2062', '\u2800': 'U+2800', '\u00A0': 'U+00A0', '   ': '␣␣␣' };
    const alike = {
      'Monstera\u200E': 'MonsteraU+200E',
      'Mon\u200Dstera': 'MonU+200Dstera',
      ' Monstera ': '␣Monstera␣',
    };
    const signed = Object.entries({ ...unseen, ...alike, '\u{E0041}\u2028': 'U+E0041U+2028' });
    for (const [n, [name]] of signed.entries()) await create(n + 200, name);
    await create(101, `${'x'.repeat(1_000_000)}🌱`);
    const { page } = await openPlants(service.apiUrl);
    await row(page, 101).waitFor();
    for (const [n, [, signs]] of signed.entries()) {
      expect((await cells(page, n + 200))[1]).toBe(signs);
      await row(page, n + 200).click();
      await page.getByText(`As stored: ${signs}`, { exact: true }).waitFor();
      await press(page, 'Delete …');
      await page.getByText(`${n + 200} ${signs}`, { exact: true }).waitFor();
      await press(page, 'Keep it');
      await press(page, 'Close');
    }
    expect((await cells(page, 102))[1]).toBe('aU+202EbU+2066cU+200BdU+2060eU+FEFFfU+00ADg');
    for (const [n, name] of names.entries()) {
      expect(await cells(page, n + 1)).toEqual([`${n + 1}`, name || 'empty', name || 'empty']);
    }
    expect(await cells(page, 100)).toEqual(['100', 'tab\\tline\\ncarriage\\r\\u0001U+007F', 'empty']);
    expect(await cells(page, 101)).toEqual(['101', `${'x'.repeat(200)}1,000,001 characters`, '']);
    // Neither a field's line feeds nor its limit change a text that nobody has edited.
    for (const id of [100, 101]) {
      const before = JSON.parse(await stored(id));
      await row(page, id).click();
      await says(page, 'only another client can change it');
      await fillIn(page, { Tag: 'changed' });
      await press(page, 'Save');
      await row(page, id).getByText('changed').waitFor();
      expect(JSON.parse(await stored(id))).toEqual({ ...before, tag: 'changed' });
    }
    // The tag that is the empty text stays that.
    await row(page, 5).click();
    await fillIn(page, { Name: 'not empty' });
    await press(page, 'Save');
    await row(page, 5).getByText('not empty').waitFor();
    expect(JSON.parse(await stored(5))).toEqual({ id: 5, name: 'not empty', tag: '' });
  });

  test('shows the plants with a tag, also with the empty one, and those from an id on', async () => {
    for (const id of [1, 2, 3, 4]) await create(id, `plant ${id}`, ['a & b', ''][id % 2]);
    await create(5, 'plant 5');
    await create(6, 'deleted');
    await others.send('DELETE', '/plants/6');
    const { page } = await openPlants(service.apiUrl);
    const shown = async (...ids: string[]) => {
      await eventually(async () => {
        const rows = await page
          .locator('#rows tr')
          .evaluateAll((all) => all.map(({ id }) => id.slice('plant-'.length)));
        return rows.join() === ids.join();
      });
    };
    await shown('1', '2', '3', '4', '5');
    await page.getByLabel('Tag', { exact: true }).first().fill('a & b');
    await page.keyboard.press('Enter');
    await shown('2', '4');
    await create(8, 'with the tag', 'a & b');
    await create(7, 'without the tag');
    await shown('2', '4', '8');
    await change(2, 'plant 2');
    await shown('4', '8');
    await press(page, 'Show all');
    await shown('1', '2', '3', '4', '5', '7', '8');
    await row(page, 1).getByRole('button').click();
    await shown('1', '3');
    // The field of the tag is empty, too, as without one.
    await page.getByLabel('From id').fill('2');
    await page.keyboard.press('Enter');
    await shown('3');
    await press(page, 'Show all');

    const goTo = async (id: string) => {
      await page.getByLabel('From id').fill(id);
      await page.keyboard.press('Enter');
    };
    await goTo('4');
    await shown('4', '5', '7', '8');
    await goTo('6');
    await says(page, '41000: the plant with the id 6 was deleted');
    await shown('7', '8');
    await goTo(`${LAST}`);
    await says(page, `40401: `);
    await shown();
    await goTo('1e3');
    await says(page, 'An id is a whole number');
    await goTo('');
    await shown('1', '2', '3', '4', '5', '7', '8');
  });

  test('shows what others do within a second', async () => {
    for (const id of [1, 2, 3]) await create(id, `plant ${id}`);
    const { page } = await openPlants(service.apiUrl);
    await row(page, 3).waitFor();
    const soon = async (condition: () => Promise<boolean>) => eventually(condition, 1_000);
    await create(4, 'new');
    await soon(() => row(page, 4).isVisible());
    await change(1, 'changed');
    await soon(() => row(page, 1).getByText('changed').isVisible());
    await others.send('DELETE', '/plants/2');
    await soon(async () => (await row(page, 2).count()) === 0);
    await says(page, '3 plants');
  });

  test('shows what somebody else has stored beside the own edit, and saves or takes one of both', async () => {
    await create(1, 'Ficus', 'tree');
    const { page } = await openPlants(service.apiUrl);
    await row(page, 1).click();
    await showsForm(page, { Name: 'Ficus' });
    await fillIn(page, { Name: 'mine' });
    await change(1, 'theirs', 'shrub');
    await press(page, 'Save');
    await says(page, '41200: ');
    expect(await page.locator('.theirs:visible ins').allTextContents()).toEqual(['theirs', 'shrub', 'Underlined']);
    await showsForm(page, { Name: 'mine', Tag: 'tree' });
    await press(page, 'Save');
    await dialog(page).waitFor({ state: 'hidden' });
    expect(JSON.parse(await stored(1))).toEqual({ id: 1, name: 'mine', tag: 'tree' });

    await row(page, 1).click();
    await showsForm(page, { Name: 'mine' });
    await change(1, 'theirs again');
    await press(page, 'Delete …');
    await press(page, 'Delete for good');
    await says(page, '41200: ');
    await press(page, 'Take what is stored');
    await showsForm(page, { Name: 'theirs again', Tag: '' });
    await press(page, 'Close');
    expect(JSON.parse(await stored(1))).toEqual({ id: 1, name: 'theirs again' });
  });

  test('puts no long text back that somebody else has replaced, and lets a short one be edited', async () => {
    await create(1, 'n'.repeat(10_001), 't'.repeat(10_001));
    const { page } = await openPlants(service.apiUrl);
    await row(page, 1).click();
    await says(page, 'only another client can change it');
    await change(1, 'theirs', 'm'.repeat(10_001));
    await press(page, 'Delete …');
    await press(page, 'Delete for good');
    await says(page, '41200: ');
    await showsForm(page, { Name: 'theirs', Tag: 'm'.repeat(10_000) });
    await press(page, 'Delete …');
    await page.locator('#confirm-name').getByText('theirs').waitFor();
    await press(page, 'Keep it');
    await fillIn(page, { Name: 'mine' });
    await press(page, 'Save');
    await dialog(page).waitFor({ state: 'hidden' });
    expect(JSON.parse(await stored(1))).toEqual({ id: 1, name: 'mine', tag: 'm'.repeat(10_001) });
  });

  test('says what the service refuses, with its number', async () => {
    await create(1, 'Ficus');
    await create(2, 'deleted');
    await others.send('DELETE', '/plants/2');
    const { page } = await openPlants(service.apiUrl);
    await addPlant(page, 1, 'another');
    await says(page, 'Another plant has this id (40009: id 1 belongs to a different plant).');
    await fillIn(page, { Id: '2' });
    await press(page, 'Save');
    await says(page, '40010: id 2 belongs to a deleted plant');
    await fillIn(page, { Id: `${LAST + 1n}` });
    await press(page, 'Save');
    await says(page, 'An id is a whole number');
    page.once('dialog', (question) => question.accept());
    await press(page, 'Close');

    await row(page, 1).click();
    await showsForm(page, { Name: 'Ficus' });
    await others.send('DELETE', '/plants/1');
    await fillIn(page, { Name: 'late' });
    await press(page, 'Save');
    await says(page, '41000: ');
  });

  test('shows no buttons that a token for reading may not use', async () => {
    await create(1, 'Ficus', 'tree');
    const { page } = await openPlants(service.apiUrl, READ_TOKEN);
    await row(page, 1).click();
    await showsForm(page, { Id: '1', Name: 'Ficus', Tag: 'tree' });
    expect(await dialog(page).getByLabel('Name').isEditable()).toBe(false);
    const buttons = await page.locator('button:visible').allTextContents();
    expect(buttons.sort()).toEqual(['Close', 'Download', 'Forget token', 'tree']);
  });

  test('goes on by itself after the service was killed and started again', async () => {
    const port = new URL(service.apiUrl).port;
    await create(1, 'Ficus');
    const { page } = await openPlants(service.apiUrl);
    await page.evaluate('window.isSamePage = true');
    await row(page, 1).waitFor();
    service.kill('SIGKILL');
    await service.exited;
    await says(page, 'No connection to the service. Trying again, which is safe.');
    await press(page, 'Add plant');
    await fillIn(page, { Id: '2', Name: 'meanwhile' });
    await press(page, 'Save');
    await dialog(page).getByText('Trying again, which is safe.').waitFor();
    await service.restart({ PORT: port });
    await row(page, 2).waitFor();
    await page.getByText('Trying again').first().waitFor({ state: 'hidden' });
    await create(3, 'after it');
    await row(page, 3).waitFor();
    expect(await page.evaluate('window.isSamePage')).toBe(true);
  });
});
