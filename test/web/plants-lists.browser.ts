import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import type { NewPlant } from '../../src/domain/plant.ts';
import { apiClient } from '../support/api-client.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { eventually } from '../support/eventually.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { collectorsLists, inWords, officeLists, pageWorkbooks } from '../support/plants/collectors-lists.ts';
import { onPostgres, openPlants, openWith, type PlantsPage } from '../support/programs/plants-page.ts';

/* Lists on the page, in a real Chromium: from a spreadsheet, back to it, and in again, and what goes wrong with them. */

const plantsFrom = (count: number): NewPlant[] =>
  Array.from({ length: count }, (_, n) => ({ id: BigInt(n), name: `Ficus ${n}`, tag: 'tree' }));

const button = (page: PlantsPage, name: string) => page.dialog().getByRole('button', { name, exact: true });

/** Drops a list, and waits until the dialog shows this of its plants. */
async function choose(page: PlantsPage, name: string, list: string, shown: string): Promise<void> {
  await page.drop(name, JSON.stringify([list]));
  await page.locator('#import-plants').getByText(shown).first().waitFor();
}

async function importList(page: PlantsPage, name: string, list: string, shown: string): Promise<void> {
  await choose(page, name, list, shown);
  await button(page, 'Import').click();
}

/** Waits for longer than a busy machine takes for a whole list. @returns how many plants became what */
async function sums(page: PlantsPage): Promise<string | null> {
  await page.getByText('Import finished').waitFor({ timeout: 300_000 });
  return page.locator('#import-sums').textContent();
}

const refused = (page: PlantsPage) => page.saved(button(page, 'Download what was refused'));

/** What the dialog for downloads saves. */
async function download(page: PlantsPage): Promise<[name: string, content: string]> {
  const { name, path } = await page.saved(button(page, 'Download'));
  return [name, await readFile(path, 'utf8')];
}

const LINES = 20_000;
const COLOR = 'grün'.repeat(30);

/** As Excel writes it in German, with mistakes in rows 12, 10,002 and 20,001: the first one has the names. */
function listFromExcel(): string {
  const lines = Array.from({ length: LINES }, (_, n) => `Pflanze ${n + 1};${['Baum', 'Kraut'][n % 2]};${COLOR}`);
  lines[10] = `;Baum;${COLOR}`;
  lines[10_000] = `"Ficus" alba;Baum;${COLOR}`;
  lines[LINES - 1] = `"Letzte" X;Baum;${COLOR}`;
  return `\uFEFFName;tags;Farbe\r\n${lines.join('\r\n')}\r\n`;
}

test('brings a list from a spreadsheet, and what was refused once it is corrected', async () => {
  const { apiUrl } = await onPostgres();
  const client = apiClient(apiUrl);
  const { page } = await openPlants(apiUrl, TOKEN, { locale: 'de-DE' });
  const list = listFromExcel();
  const prepare = async () => {
    await page.drop('Pflanzen.csv', JSON.stringify([list]));
    await page.says('Not stored: tags, Farbe');
    await page.dialog().getByLabel('the tag').selectOption('tags');
    await page.getByText('Not stored: Farbe', { exact: true }).waitFor();
  };
  await prepare();
  await page.dialog().getByLabel('numbered from').fill('1');
  await page.keyboard.press('Tab');
  const shown = page.locator('#import-plants tr');
  await shown.getByText('5Pflanze 5Baum').waitFor();
  expect(await shown.allTextContents()).toEqual(
    ['Baum', 'Kraut', 'Baum', 'Kraut', 'Baum'].map((tag, n) => `${n + 1}Pflanze ${n + 1}${tag}`),
  );
  expect(await page.locator('#import-refused').inputValue()).toMatch(/^Row 12: name is missing/);

  // Stopped while its third request is on its way.
  let parts = 0;
  await page.route(/check=false/, async (route) => {
    if (++parts === 3) await page.says('Import stopped');
    await route.continue().catch(() => {});
  });
  await button(page, 'Import').click();
  await eventually(() => parts === 3);
  await button(page, 'Stop').click();
  await page.says('What has been imported stays.');
  await page.unroute(/check=false/);
  await button(page, 'Close').click();

  // Again, no plant is stored twice, also by a page that was loaded again.
  await page.reload();
  await prepare();
  await button(page, 'Import').click();
  expect(await sums(page)).toMatch(/^20,000 read, [\d,]+ new, [\d,]+ whose names are there already, 3 refused$/);
  const reasons = (await page.locator('#import-refused').inputValue()).split('\n');
  expect(reasons.map((reason) => reason.split(':')[0])).toEqual(['Row 12', 'Row 10,002', 'Row 20,001', '']);

  const { name, path } = await refused(page);
  expect(name).toBe('Pflanzen.csv.rejected.csv');
  const rejected = await readFile(path, 'utf8');
  expect(rejected.replaceAll(COLOR, 'grün')).toBe(
    '\uFEFFName;tags;Farbe\r\n;Baum;grün\r\n"Ficus" alba;Baum;grün\r\n"Letzte" X;Baum;grün\r\n',
  );
  await button(page, 'Close').click();
  const corrected = rejected.replace('\n;', '\nElfte;').replace('"Ficus"', 'Ficus').replace('"Letzte" X', 'Letzte');
  await page.drop('corrected.csv', JSON.stringify([corrected]));
  await page.dialog().getByLabel('the tag').selectOption('tags');
  await page.locator('#import-plants').getByText('Ficus albaBaum').waitFor();
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('3 read, 3 new');
  await button(page, 'Close').click();
  const [alba, ...twins] = JSON.parse((await client.send('GET', '/plants?name=Ficus%20alba')).body);
  expect([alba, twins]).toMatchObject([{ name: 'Ficus alba', tag: 'Baum' }, []]);
}, 600_000);

test('imports the list that it shows, not one chosen before that took longer', async () => {
  const { stored, page } = await openWith();
  const slowly = `window.bytes = Blob.prototype.bytes;
    const until = new Promise((resolve) => (window.goOn = resolve));
    Blob.prototype.bytes = async function () {
      const bytes = await window.bytes.call(this);
      await until;
      return bytes;
    }`;
  await page.drop('slow.csv', `['id,name\\n1,Ficus']`, slowly);
  await page.drop('shown.csv', `['id,name\\n2,Salvia']`, 'Blob.prototype.bytes = window.bytes');
  await page.locator('#import-plants').getByText('2Salvia').waitFor();
  await page.evaluate('window.goOn()');
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('1 read, 1 new');
  expect([...stored.keys()]).toEqual([2n]);
});

test('shows a list that is dropped at once after the dialog of another was closed', async () => {
  const { page } = await openWith();
  await choose(page, 'one.csv', 'id,name\n1,Ficus', '1Ficus');
  await page.drop('two.csv', `['id,name\\n2,Salvia']`, `document.querySelector('#import-close').click()`);
  await page.locator('#import-plants').getByText('2Salvia').waitFor();
});

test('numbers a list behind all plants, also deleted ones, and refused rows anew', async () => {
  const { stored, page } = await openWith(plantsFrom(501));
  for (const id of [501n, 502n]) stored.set(id, 'deleted');
  await choose(page, 'plants.csv', 'name,tag\nSalvia,herb\n,herb', '504Salvia');
  expect(await page.dialog().getByLabel('are replaced').isVisible()).toBe(false);
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('2 read, 1 new, 1 refused');
  expect(await readFile((await refused(page)).path, 'utf8')).toBe('\uFEFFname,tag\n,herb\n');
  // Corrected, and with a plant at its top, so that the same numbers would be those of others.
  await importList(page, 'plants.csv', 'name,tag\nRosa,herb\nSalvia,herb\nRosa,herb\n,herb', '505Rosa');
  expect(await sums(page)).toBe('4 read, 1 new, 2 whose names are there already, 1 refused');
  expect([504n, 505n].map((id) => stored.get(id))).toMatchObject([{ name: 'Salvia' }, { name: 'Rosa' }]);

  const json = Array(200_001).fill({ id: 1, name: 'a' });
  await page.route(/plants\?limit=200001/, (route) => route.fulfill({ json }));
  await page.drop('plants.csv', JSON.stringify(['name,tag\nRosa,herb']));
  await page.says('too many plants to compare their names');
  await page.dialog().getByLabel('Leave out plants whose names are stored').uncheck();
  await page.locator('#import-plants').getByText('506Rosa').waitFor();
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('1 read, 1 new');
});

/** Lists of the reader's table: as they are, and as workbooks. */
const SAMPLE = `Excel in German, with semicolons in Windows-1252|Excel, with its line for the separator|pipes, as WCVP has them|
  a price list of a nursery, with a title and sections|ids with letters|en_order|fr_sans_titre|pl_ilosc|ja_ichiran`;
const dropBytes = (page: PlantsPage, name: string, bytes: Buffer | undefined) =>
  page.drop(name, `[Uint8Array.from(${JSON.stringify([...(bytes ?? [])])})]`);

const sample = [...collectorsLists, ...officeLists].filter(({ name }) => SAMPLE.includes(name));

test.each([...sample, ...pageWorkbooks.filter(({ plants }) => plants)])(
  'imports what one says of $name',
  async (how) => {
    const { list, said = {}, plants = [], refused: reasons = [] } = how;
    const { page, stored } = await openWith();
    await dropBytes(page, 'list', list);
    await page.locator('#import.looking').waitFor();
    if (said.encoding) await page.dialog().getByLabel('Its encoding').selectOption(said.encoding);
    await page.says(`The list${said.encoding ? `, ${said.encoding}` : ''}`);
    expect(await page.dialog().getByLabel('Its sheet').isVisible()).toBe(false);
    const columns = said.columns?.split(',') ?? [];
    for (const part of said['ids-from'] ? ['id=0', ...columns] : columns) {
      const [field = '', column = ''] = part.split('=');
      const select = page.dialog().getByLabel(`the ${field}`);
      await select.selectOption(/^\d$/.test(column) ? { index: Number(column) } : column);
    }
    if (said['ids-from']) await page.dialog().getByLabel('numbered from').fill(said['ids-from']);
    await page.keyboard.press('Tab');
    const counts = [`${plants.length} new`, ...(reasons.length > 0 ? [`${reasons.length} refused`] : [])].join(', ');
    await page.says(`Nothing is stored yet. ${plants.length + reasons.length} read, ${counts}`);
    await button(page, 'Import').click();
    expect(await sums(page)).toBe(`${plants.length + reasons.length} read, ${counts}`);
    expect([...stored.values()].map((plant) => plant !== 'deleted' && inWords(plant))).toEqual(plants);
    const shown = await page.locator('#import-refused').inputValue();
    for (const [row, why] of reasons) expect(shown).toMatch(new RegExp(`^Row ${row}: .*${RegExp.escape(why)}`, 'm'));
  },
);

test('reads the sheet that one chooses, with all digits, and large ones in workers', async () => {
  const { page, stored } = await openWith();
  await dropBytes(page, 'garden.xlsx', pageWorkbooks.at(-1)?.list);
  await page.dialog().getByLabel('Its sheet').selectOption('Plants');
  await page.locator('#import-plants').getByText('Ficus 0').waitFor();
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('1,001 read, 1,001 new');
  expect(stored.get(9007199254740993n)).toEqual({ id: 9007199254740993n, name: ' Rosa ' });
});

test('proposes the encoding of the language', async () => {
  const { page } = await openWith([], { look: { locale: 'pl-PL' } });
  await dropBytes(page, 'lista.csv', officeLists.at(-1)?.list);
  await page.locator('#import-plants').getByText('Żywotnik').waitFor();
  expect(await page.dialog().getByLabel('Its encoding').inputValue()).toBe('windows-1250');
});

test('never says that a list with numbers has no ids, and shows which come twice', async () => {
  const { page } = await openWith();
  await choose(page, 'order.csv', 'Art,Menge,Beet\nRosa,7,a\nFicus,9,a\n', '9Ficus');
  await page.says('Is Menge the id? It has whole numbers, each once.');
  await choose(page, 'list.csv', 'Nr.,Pflanze,Ort\n7,Rosa,a\n7,Salvia,a\n8,Ficus,a\n', '8Ficus');
  await page.says('Ids that come twice: 7 (rows 2 and 3). Only the first plant of each is stored.');
  await page.says('3 read, 2 new, 1 refused');
  await page.dialog().getByLabel('the id').selectOption('none');
  await page.says('3 read, 3 new');
  // Nothing of it is said of the next one, whose columns are not certain.
  await page.drop('unknown.csv', `['Ficus,tree\\nRosa,rose']`);
  await page.says('No row has known names of columns.');
  expect(await page.locator('#import-sums').textContent()).toBe('');
});

test('takes a wrong import back by the corrected list, or by deleting new plants', async () => {
  const { page, stored } = await openWith([{ id: 1n, name: 'Ficus' }]);
  await page.row(1).waitFor();
  await importList(page, 'list.csv', 'id,name,tag\n1,Ficus,\n3,Roze,rose\n4,Abies,\n', '4Abies');
  expect(await sums(page)).toBe('3 read, 2 new, 1 there already');
  await choose(page, 'list.csv', 'id,name,tag\n1,Ficus,\n3,Rosa,rose\n4,Abies,\n5,Tilia,\n', '5Tilia');
  await page.locator('#import-changes').getByText('3Roze roseRosa rose').waitFor();
  expect(await page.dialog().getByLabel('are replaced').isChecked()).toBe(true);
  await page.says('Nothing is stored yet. 4 read, 1 new, 1 replaced, 2 there already');
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('4 read, 1 new, 1 replaced, 2 there already');
  expect(stored.get(3n)).toEqual({ id: 3n, name: 'Rosa', tag: 'rose' });
  await button(page, 'Select the new plants').click();
  await page.says('1 selected');
  await page.pressButton('Delete …');
  await page.says('their ids can never be used again');
  await page.dialog().getByRole('button', { name: 'Delete for good' }).click();
  await page.row(5).waitFor({ state: 'detached' });
});

test('says so when a list is none, and how to save what it cannot read', async () => {
  const { page } = await openWith();
  for (const [_what, content, message] of [
    ['a spoilt workbook', `['PK\\x03\\x04\\x14\\0\\x06']`, 'this workbook cannot be read'],
    ['.ods', `['PK\\x03\\x04 mimetypeapplication/vnd.oasis.opendocument.spreadsheet']`, 'save it as .xlsx, or as CSV'],
    ['.xls', '[Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0)]', 'save it as .xlsx, or as CSV'],
    ['nothing', '[]', 'This list is empty.'],
    ['a line of separators', `[','.repeat(500_000)]`, 'No row has known names of columns.'],
    ['names only', `['id,name\\n']`, 'This list has no plants.'],
    ['90 MB', `Array(90).fill('x'.repeat(1e6))`, 'split it, or import it with npm run import'],
    ['a large workbook', `['PK\\x03\\x04', 'x'.repeat(5e6)]`, '(it is larger than 4 MiB): save it again as .xlsx'],
  ] as const) {
    await page.drop('list', content);
    await page.dialog().getByText(message).waitFor();
  }
});

test('takes JSON with other members behind a space', async () => {
  const { page } = await openWith();
  await importList(page, 'plants', ' {"id":9,"name":"Abies","tags":"conifer"}', '9Abies');
  await page.says('Not stored: tags');
  await page.says('1 read, 1 new');
});

test('keeps refused records of JSON, also without members, and those of CSV in UTF-8', async () => {
  const { page } = await openWith();
  await page.drop('plants.ndjson', `['{"tag":"herb"}\\n{}\\n { }\\n']`);
  await page.dialog().getByLabel('numbered from').fill('7');
  await page.dialog().getByLabel('numbered from').press('Enter');
  await sums(page);
  expect(await readFile((await refused(page)).path, 'utf8')).toBe('{"tag":"herb"}\n{}\n { }\n');
  const list = 'Preise\r\nNr;Name;Gattung\r\n1;;B\xe4renklau\r\nx;;\r\n';
  await page.drop('plants.csv', `[Uint8Array.from(${JSON.stringify([...Buffer.from(list, 'latin1')])})]`);
  await page.says('2 read, 2 refused');
  await page.dialog().getByLabel('the tag').selectOption('none');
  await page.says('Not stored: Gattung');
  await button(page, 'Import').click();
  await sums(page);
  expect(await readFile((await refused(page)).path, 'utf8')).toBe('\uFEFFNr;Name;Gattung\r\n1;;Bärenklau\r\nx;;\r\n');
});

test('offers only what the token permits, and no list takes the place of an edit', async () => {
  const permissions = new Set<'read' | 'create' | 'change'>(['read', 'create']);
  const verifyToken = () => ({ permissions });
  const { page } = await openWith(plantsFrom(1), { verifyToken });
  const list = 'id,name,tag\n0,Salvia,herb\n';
  const dropList = () => page.drop('plants.csv', JSON.stringify([list]));
  await page.row(0).waitFor();
  await choose(page, 'plants.csv', list, 'Salvia');
  expect(await page.dialog().getByLabel('are replaced').isVisible()).toBe(false);
  permissions.add('change');
  await page.reload();
  await page.openPlant(0, { Name: 'Ficus 0' });
  await dropList();
  await page.showsForm({ Name: 'Ficus 0' });
  expect(await page.dialog().getByText('Salvia').count()).toBe(0);
  await page.pressButton('Close');
  await page.getByLabel('Find').fill('no such plant');
  await page.says('No plants match.');
  await dropList();
  await page.dialog().getByLabel('are replaced').waitFor();
  await button(page, 'Import').click();
  expect(await sums(page)).toBe('1 read, 1 refused');
  await page.says('Choose the corrected list');
  permissions.delete('create');
  await page.reload();
  await page.pressButton('Show all');
  await page.row(0).waitFor();
  await dropList();
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Import' }).isVisible()).toBe(false);
});

test('downloads what the filter shows, for the spreadsheets of a country or as JSON', async () => {
  const plants = [...plantsFrom(2), { id: 7n, name: 'Salvia', tag: 'herb' }];
  const { page: german } = await openWith(plants, { look: { locale: 'de-DE' } });
  await german.row(1).getByRole('button').click();
  await german.row(7).waitFor({ state: 'detached' });
  await german.pressButton('Download');
  await german.dialog().getByText('The plants that you search for').waitFor();
  const csv = '\uFEFFid;name;tag\r\n0;Ficus 0;tree\r\n1;Ficus 1;tree\r\n';
  expect(await download(german)).toEqual(['plants.csv', csv]);

  const { page: english } = await openWith(plants, { look: { locale: 'en-GB' } });
  await english.row(7).waitFor();
  await english.pressButton('Download');
  expect((await download(english))[1]).toContain('\uFEFFid,name,tag\r\n0,Ficus 0,tree\r\n');
  await english.dialog().getByLabel('JSON').check();
  await button(english, 'Close').click();

  // Also with the name that was typed just before.
  await english.evaluate(`(() => {
    document.querySelector('#name').value = 'SALVIA';
    document.querySelector('#name').dispatchEvent(new Event('input', { bubbles: true }));
    document.querySelector('#download-list').click();
  })()`);
  await english.row(0).waitFor({ state: 'detached' });
  expect(await download(english)).toEqual(['plants.ndjson', '{"id":7,"name":"Salvia","tag":"herb"}\n']);
});

test('says which texts spreadsheets alter, and offers no download of nothing', async () => {
  const names = ['00012', '1/2', '=1+1', 'Ficus 12', '-'];
  const plants = names.map((name, n) => ({ id: BigInt(n), name }));
  const { page } = await openWith([...plants, { id: 9007199254740993n, name: 'Rosa' }]);
  await page.pressButton('Download');
  await download(page);
  await page.says('Spreadsheets would alter 00012, 1/2, =1+1, 9007199254740993. To keep such texts');
  await button(page, 'Close').click();
  await page.getByLabel('Find').fill('Ficus');
  await page.row(0).waitFor({ state: 'detached' });
  await page.pressButton('Download');
  await download(page);
  expect(await page.dialog().getByText('Spreadsheets would alter').isVisible()).toBe(false);
  await button(page, 'Close').click();
  await page.getByLabel('Find').fill('nothing');
  await page.locator('#download-list:disabled').waitFor();
});

test('saves nothing of a download that breaks off or that a proxy responds to', async () => {
  const plants = fakePlants(new Map(plantsFrom(20_000).map((plant) => [plant.id, plant])));
  let fails = true;
  const server = await startApiServer({
    plants: {
      ...plants,
      async list(range, count) {
        if (fails && range.from > 10_000n) throw new Error('a fault');
        return plants.list(range, count);
      },
    },
  });
  const { page } = await openPlants(server.url);
  await page.row(0).waitFor();
  await page.pressButton('Download');
  let downloads = 0;
  page.on('download', () => downloads++);
  await button(page, 'Download').click();
  await page.says('The connection broke off, so nothing was saved.');
  const signIn = { body: '<title>Sign in to this network</title>', contentType: 'text/html' };
  await page.route('**/plants?*', (route) => route.fulfill(signIn), { times: 1 });
  await button(page, 'Download').click();
  await page.says('The service is not available (200: not a response of this service).');
  expect(downloads).toBe(0);
  fails = false;
  expect((await download(page))[1].split('\r\n')).toHaveLength(20_002);
  await eventually(() => downloads === 1);
});
