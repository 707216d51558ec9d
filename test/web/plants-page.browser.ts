import { expect, test } from '@jest/globals';
import { readOnly } from '../../src/application/permissions.ts';
import { apiClient } from '../support/api-client.ts';
import { eventually } from '../support/eventually.ts';
import { onPostgres, openPlants, openWith, type PlantsPage } from '../support/programs/plants-page.ts';

/* What people do on the page, in a real browser against the whole service, and how it follows what others do. */

const [FIRST, LAST] = [-(2n ** 63n), 2n ** 63n - 1n];

/** The whole service, and other clients of it than the page. */
async function startShared() {
  const { apiUrl: url } = await onPostgres();
  const client = apiClient(url);
  return {
    url,
    create: (id: bigint | number, name: string, tag?: string) =>
      client.send('POST', '/plants', { body: `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}` }),
    change: (id: number, name: string) => client.send('PUT', `/plants/${id}`, { body: JSON.stringify({ name }) }),
    remove: (id: number) => client.send('DELETE', `/plants/${id}`),
    stored: async (id: bigint | number) => (await client.send('GET', `/plants/${id}`)).body,
  };
}

const find = (page: PlantsPage, text: string) => page.getByLabel('Find').fill(text);
/** The texts of a row: id, name and tag. */
const cells = (page: PlantsPage, id: number) => page.row(id).getByRole('gridcell').allTextContents();
const ids = (page: PlantsPage) =>
  page.locator('#rows tr').evaluateAll((rows) => rows.map(({ id }) => Number(id.slice('plant-'.length))));
const shows = (page: PlantsPage, wanted: number[]) => eventually(async () => `${await ids(page)}` === `${wanted}`);
const isFirst = (page: PlantsPage, id: number) => eventually(async () => (await ids(page))[0] === id);

test('adds plants at both ends of int64, changes one, deletes the other', async () => {
  const { url, stored } = await startShared();
  const { page } = await openPlants(url);
  await page.says('No plants yet.');
  await page.addPlant(LAST, 'Pinus longaeva', 'conifer');
  await page.row(LAST).waitFor();
  await page.addPlant(FIRST, 'Welwitschia');
  await page.row(FIRST).waitFor();
  expect(await stored(LAST)).toBe('{"id":9223372036854775807,"name":"Pinus longaeva","tag":"conifer"}');
  await page.openPlant(LAST, { Name: 'Pinus longaeva', Tag: 'conifer' });
  await page.save({ Name: '' });
  expect(await page.locator('#plant-name').evaluate((name) => name.matches(':user-invalid'))).toBe(true);
  expect(await stored(LAST)).toContain('Pinus longaeva');
  await page.save({ Name: 'Pinus\naristata', Tag: '' });
  await page.row(LAST).getByText('aristata').waitFor();
  expect(await stored(LAST)).toBe('{"id":9223372036854775807,"name":"Pinus\\naristata"}');

  await page.row(FIRST).click();
  await page.pressButton('Delete');
  await page.says('will be deleted in ten seconds');
  await page.reload();
  await page.row(FIRST).waitFor({ state: 'detached' });
  expect(await stored(FIRST)).toContain('"error":41000');
});

test('shows every text as it is stored, and leaves it so', async () => {
  const { url, create, stored } = await startShared();
  const names = ['<script>alert(2)</script>', 'שלום עולם', '🌱🪴', 'a  b', '', 'क्\u200Dष', 'می\u200Cخواهم', '👩‍🌾❤️'];
  for (const [n, name] of names.entries()) await create(n + 1, name, name);
  await create(100, 'tab\tline\ncarriage\r\u0001\u007f', '');
  await create(101, `${'x'.repeat(999)}🌱`);
  await create(102, 'a\u202Eb\u2066c\u200Bd\u2060e\uFEFFf\u00ADg');
  const signed = Object.entries({
    '\u3164': 'U+3164',
    '\u2062': 'U+2062',
    '\u2800': 'U+2800',
    '\u00A0': 'U+00A0',
    '   ': '␣␣␣',
    'Monstera\u200E': 'MonsteraU+200E',
    'Mon\u200Dstera': 'MonU+200Dstera',
    ' Monstera ': '␣Monstera␣',
    '\u{E0041}\u2028': 'U+E0041U+2028',
  });
  for (const [n, [name]] of signed.entries()) await create(n + 200, name);
  const { page } = await openPlants(url);
  await page.row(101).waitFor();
  for (const [n, [, signs]] of signed.entries()) {
    expect((await cells(page, n + 200))[1]).toBe(signs);
    await page.row(n + 200).click();
    await page.getByText(`As stored: ${signs}`, { exact: true }).waitFor();
    await page.pressButton('Close');
  }
  await page.locator('#plants').press('Home');
  for (const [n, name] of names.entries()) {
    expect(await cells(page, n + 1)).toEqual([`${n + 1}`, name || 'empty', name || 'empty']);
  }
  expect(await cells(page, 100)).toEqual(['100', 'tab\\tline\\ncarriage\\r\\u0001U+007F', 'empty']);
  expect(await cells(page, 101)).toEqual(['101', `${'x'.repeat(200)}1,000 characters`, '']);
  expect((await cells(page, 102))[1]).toBe('aU+202EbU+2066cU+200BdU+2060eU+FEFFfU+00ADg');
  // Neither a field's line feeds nor its limit change a text that nobody has edited, nor does the tag that is the empty text.
  for (const [id, field] of [
    [100, 'Tag'],
    [101, 'Tag'],
    [5, 'Name'],
  ] as const) {
    const before = JSON.parse(await stored(id));
    await page.row(id).click();
    await page.save({ [field]: 'changed' });
    await page.row(id).getByText('changed').waitFor();
    expect(JSON.parse(await stored(id))).toEqual({ ...before, [field.toLowerCase()]: 'changed' });
  }
});

test('shows the plants with a tag, and what others do within a second', async () => {
  const { url, create, change, remove } = await startShared();
  for (const id of [1, 2, 3, 4]) await create(id, `plant ${id}`, ['a & b', ''][id % 2]);
  await create(5, 'plant 5');
  await create(6, 'deleted');
  await remove(6);
  const { page } = await openPlants(url);
  /** How long it has taken to show what others have done. */
  const durations: number[] = [];
  async function soon(isShown: Promise<void>): Promise<void> {
    const start = performance.now();
    await isShown;
    durations.push(performance.now() - start);
  }
  await shows(page, [1, 2, 3, 4, 5]);
  await page.getByLabel('Tag', { exact: true }).first().fill('a & b');
  await page.keyboard.press('Enter');
  await shows(page, [2, 4]);
  await create(8, 'with the tag', 'a & b');
  await soon(shows(page, [2, 4, 8]));
  await create(7, 'without the tag');
  await change(2, 'plant 2');
  await soon(shows(page, [4, 8]));
  await page.pressButton('Show all');
  await shows(page, [1, 2, 3, 4, 5, 7, 8]);
  await change(5, 'changed');
  await soon(eventually(() => page.row(5).getByText('changed').isVisible()));
  await remove(5);
  await soon(shows(page, [1, 2, 3, 4, 7, 8]));
  // A busy machine may delay one.
  expect(durations.toSorted((a, b) => a - b)[2]).toBeLessThan(1_000);
  await page.says('6 plants');
});

test('shows no buttons that a token for reading may not use', async () => {
  const verifyToken = () => ({ permissions: readOnly });
  const { page } = await openWith([{ id: 1n, name: 'Ficus', tag: 'tree' }], { verifyToken });
  await page.openPlant(1, { Name: 'Ficus', Tag: 'tree' });
  expect(await page.dialog().getByLabel('Name').isEditable()).toBe(false);
  const buttons = await page.locator('button:visible').allTextContents();
  const table = ['Id', 'Name', 'Tag', 'no tag', 'tree', 'tree'];
  expect(buttons.sort()).toEqual(['Close', 'Download', 'Sign out', 'Stay signed in', ...table].sort());
  expect(await page.getByRole('checkbox', { name: 'Select 1' }).isVisible()).toBe(false);
});

test('selects from the last selected plant on, not from one that was deselected', async () => {
  const { stored, page } = await openWith(Array.from({ length: 9 }, (_, n) => ({ id: BigInt(n), name: `plant ${n}` })));
  const box = (id: number) => page.row(id).getByRole('checkbox');
  for (let twice = 0; twice < 2; twice++) await box(1).click();
  await page.locator('#plants').focus();
  await page.keyboard.press('End');
  await page.isActive(8);
  await page.keyboard.press('Shift+ArrowUp');
  await page.says('2 selected');
  await page.pressButton('Clear');
  await box(4).click();
  stored.set(4n, 'deleted');
  await page.reload();
  await page.row(4).waitFor({ state: 'detached' });
  await box(6).click();
  await box(3).click({ modifiers: ['Shift'] });
  await page.says('3 selected');
});

test('tags and deletes several plants, unless somebody else has changed one', async () => {
  const { url, create, change, stored } = await startShared();
  for (let id = 1; id <= 6; id++) await create(id, `plant ${id}`, 'old');
  const { page } = await openPlants(url);
  const box = (id: number) => page.row(id).getByRole('checkbox');
  const selected = (count: number) => page.says(`${count} selected`);
  await box(2).click();
  await box(4).click({ modifiers: ['Shift'] });
  await page.row(6).click({ modifiers: ['ControlOrMeta'] });
  await box(3).click();
  await selected(3);
  await page.pressButton('Set tag …');
  // Without one, neither takes any away.
  await page.keyboard.press('Enter');
  await page.pressButton('Set the tag');
  await page.dialog().getByLabel('Tag', { exact: true }).fill('new');
  await page.pressButton('Set the tag');
  await page.says('3 of 3 plants changed');
  for (const id of [2, 4, 6]) await page.row(id).getByText('new').waitFor();
  expect([await stored(2), await stored(3)]).toEqual([
    '{"id":2,"name":"plant 2","tag":"new"}',
    '{"id":3,"name":"plant 3","tag":"old"}',
  ]);

  await box(2).click();
  await page.pressButton('Set tag …');
  await page.pressButton('Remove tag');
  await page.says('1 of 1 plant changed');
  expect(await stored(2)).toBe('{"id":2,"name":"plant 2"}');
  await box(1).click();
  await page.pressButton('Select all shown');
  await selected(6);
  await page.pressButton('Delete …');
  await page.route('**/plants/5', async (route) => {
    await change(5, 'theirs');
    await route.continue();
  });
  await change(1, 'theirs, too');
  await page.row(1).getByText('theirs').waitFor();
  await page.pressButton('Delete for good');
  await page.says('4 of 6 plants deleted, 2 refused.');
  const refused = await page.dialog().getByLabel('Refused').inputValue();
  expect(refused.split('\n').sort()).toEqual([
    '',
    '1: Somebody else has changed this plant.',
    '5: Somebody else has changed this plant.',
  ]);
  await page.dialog().getByRole('button', { name: 'Close' }).click();
  await selected(2);
  expect(await page.getByRole('row').allTextContents()).toEqual(['IdNameTag', '1theirs, too', '5theirs']);
});

const isLive = (page: PlantsPage) => page.getByText('Live', { exact: true });

test('goes on after a response to its feed by a proxy, by a failed service, or none', async () => {
  const { store: plants, page } = await openWith();
  let id = 0n;
  for (const [status, body, words] of [
    [408, '{"error":40800,"message":"the request arrived too slowly"}', '(40800'],
    [500, '{"error":50000,"message":"unexpected error"}', 'Something in the service has failed (50000)'],
    [502, '{', '(502'],
    [200, '{"status":"ok"}', '(200'],
    [404, '<html>Not Found</html>', '(404'],
    [0, '', 'No connection to the service. Trying again …'],
  ] as const) {
    await page.route('**/changes?*', (route) => (status > 0 ? route.fulfill({ status, body }) : undefined));
    // What the page waits for now comes from the service, and what it asks for next from the route.
    await plants.add({ id: ++id, name: 'before' });
    await page.says(words);
    await isLive(page).waitFor({ state: 'hidden' });
    await page.unrouteAll();
    await isLive(page).waitFor();
    await plants.add({ id: ++id, name: 'after' });
    await page.row(id).waitFor();
  }
});

test('keeps 50,000 of 80,000 plants, has the service search, and says what it cannot', async () => {
  const { store: plants, page } = await openWith();
  const note = page.getByText('There are more than 50,000 plants');
  await page.says('No plants yet.');
  for (let id = 1n; id <= 80_000n; id++) await plants.add({ id, name: `Ficus ${id}`, tag: `tag ${id % 80n}` });
  await page.says('50,000 plants, more below');
  await note.waitFor();
  await page.reload();
  await page.says('50,000 plants, more below');
  await page.row(1).waitFor();
  expect(await page.head('Name').isDisabled()).toBe(true);
  await page.evaluate('document.getElementById("plants").scrollTop = 1e9');
  await page.says('50,000 plants from id 25001, more below');
  const grid = page.locator('#plants');
  await grid.press('End');
  await page.isActive(75_000);
  await page.says('30,000 plants from id 50001');
  await grid.press('End');
  await page.isActive(80_000);
  await grid.press('Home');
  await page.isActive(50_001);
  await grid.press('Home');
  await page.row(1).waitFor();

  // What matches is all here, so that it has an order by name.
  await find(page, 'ficus 7999');
  await page.says('11 plants');
  await page.head('Name').dblclick();
  await isFirst(page, 79_999);
  await plants.add({ id: 80_001n, name: 'Ficus 79997b' });
  await plants.add({ id: 80_002n, name: 'Salvia' });
  await page.says('12 plants');
  await page.head('Id').dblclick();
  await isFirst(page, 80_001);
  await plants.remove(80_001n);
  await isFirst(page, 79_999);
  await page.pressButton('Show all');
  await page.head('Id').click();
  await find(page, '70000');
  await page.says('10,002 plants from id 70000');
  await find(page, '80001');
  await page.says('There is no plant with the id 80001. These are the next ones.');
  await isFirst(page, 80_002);
}, 600_000);

test('orders plants by id, name and tag, both ways, also after a reload', async () => {
  const { store: plants, page } = await openWith(
    ['Rosa', 'érable', 'Zamia', 'Ficus'].map((name, n) => ({ id: BigInt(n), name, ...(n > 1 && { tag: `${9 - n}` }) })),
  );
  for (let id = 10n; id <= 1_600n; id++) await plants.add({ id, name: 'Nepenthes', tag: '8' });
  await page.says('1,595 plants');
  await page.reload();
  await page.says('1,595 plants');
  for (const [name, first, last] of [
    ['Id', 1_600, 0],
    ['Tag', 3, 1],
    ['Tag', 10, 1],
    ['Name', 1, 2],
    ['Name', 2, 1],
  ] as const) {
    await page.head(name).click();
    await isFirst(page, first);
    await page.locator('#plants').press('End');
    await page.isActive(last);
    await page.locator('#plants').press('Home');
  }
  expect(await page.locator('[aria-sort=descending]').textContent()).toBe('Name');
  expect(new URL(page.url()).hash).toBe('#order=-name');
  await plants.add({ id: 5_000n, name: 'zz' });
  await isFirst(page, 5_000);
  await page.reload();
  await isFirst(page, 5_000);
});

/* Search. */

const PLANTS = [
  { id: 1n, name: 'Ficus', tag: 'tree' },
  { id: 5n, name: 'Rosa rotkäppchen', tag: 'shrub' },
  { id: 6n, name: 'Königin der Primrosa', tag: 'herb' },
  { id: 7n, name: '' },
];

async function openSearch() {
  const { store: plants, page } = await openWith(PLANTS);
  await page.row(1).waitFor();
  return { plants, page };
}

test.each([
  ['konigin', [6]],
  ['ROSA rotk', [5]],
  [' rotk  rosa ', [5]],
  ['rosa', [5, 6]],
  ['7', [7]],
] as const)('finds plants by words in any order, without accents, and by ids: %s', async (text, found) => {
  const { page } = await openSearch();
  await find(page, text);
  await shows(page, [...found]);
  await page.says(`${found.length} of 4 plants`);
});

test('proposes what matches where nothing does, and finds plants without a tag', async () => {
  const { plants, page } = await openSearch();
  await find(page, 'rosah');
  await page.pressButton('rosa: 2 plants');
  await shows(page, [5, 6]);
  await page.row(6).getByRole('button').click();
  await shows(page, [6]);
  await find(page, 'ficus');
  await page.pressButton('ficus: 1 plant');
  await shows(page, [1]);
  await find(page, 'quercus rotk');
  await page.pressButton('rotk: 1 plant');
  await shows(page, [5]);
  await page.pressButton('Show all');
  await page.pressButton('no tag');
  await shows(page, [7]);
  await plants.replace({ id: 5n, name: 'Rosa' });
  await plants.add({ id: 8n, name: 'Bellis' });
  await shows(page, [5, 7, 8]);
  expect(new URL(page.url()).hash).toBe('#untagged=1');
  await page.reload();
  await shows(page, [5, 7, 8]);
  await page.pressButton('no tag');
  await shows(page, [1, 5, 6, 7, 8]);
});

test('offers the tags in use, also those that come later, in table and editor', async () => {
  const { plants, page } = await openSearch();
  const offered = (where: string) => page.locator(`#${where} button`).allTextContents();
  await eventually(async () => `${await offered('tags')}` === 'herb,shrub,tree');
  await page.locator('#tags').getByText('shrub').click();
  await page.says('1 of 4 plants');
  expect([await ids(page), await offered('tags')]).toEqual([[5], []]);
  await page.pressButton('Show all');
  await plants.add({ id: 17n, name: 'Salix', tag: 'tree' });
  await plants.add({ id: 18n, name: 'Bellis', tag: 'herbs' });
  await eventually(async () => `${await offered('tags')}` === 'tree,herb,herbs,shrub');
  await page.getByLabel('Tag', { exact: true }).first().fill('HER');
  expect(await offered('tags')).toEqual(['herb', 'herbs']);

  await page.openPlant(1, { Tag: 'tree' });
  await page.fillIn({ Tag: 'shr' });
  expect(await offered('plant-tags')).toEqual(['shrub']);
  await page.locator('#plant-tags').getByText('shrub').click();
  await page.showsForm({ Tag: 'shrub' });
  await page.pressButton('Save');
  await page.row(1).getByText('shrub').waitFor();
});
