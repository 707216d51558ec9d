import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { dialog, drop, openPlants, press, row, saved, says, showsForm } from '../../../support/programs/plants-page.ts';

/* Lists on the page that are none, that break off, or that a token may not send. */

const plantsFrom = (count: number, tag: string) =>
  new Map(Array.from({ length: count }, (_, n) => [BigInt(n), { id: BigInt(n), name: `Ficus ${n}`, tag }]));

const download = async (
  url: string,
  locale: string,
  prepare?: (page: Awaited<ReturnType<typeof openPlants>>['page']) => Promise<void>,
) => {
  const { page } = await openPlants(url, TOKEN, { locale });
  await page.locator('#rows tr').first().waitFor();
  await prepare?.(page);
  await press(page, 'Download');
  return page;
};

test('goes on after a 503, a lost connection and what is no response of the service, and in smaller parts after one that is too slow or too large', async () => {
  const stored = new Map();
  const server = await startApiServer({ plants: fakePlants(stored), bodyLimit: 20_000 });
  const { page } = await openPlants(server.url);
  const answers = ['slow', 'of a proxy', '503', 'lost'];
  await page.route(/import\?(?!.*check)/, async (route) => {
    const answer = answers.pop();
    if (answer === 'lost') await route.abort();
    else if (answer === 'slow') await route.fulfill({ status: 408, body: '' });
    else if (answer === 'of a proxy') await route.fulfill({ status: 200, body: '{"status":"ok"}' });
    else if (answer) await route.fulfill({ status: 503, body: '{"error":50300,"message":"overloaded"}' });
    else await route.continue();
  });
  const lines = Array.from({ length: 5_000 }, (_, id) => JSON.stringify({ id, name: `Ficus ${id}` }));
  await drop(page, 'plants.ndjson', JSON.stringify([lines.join('\n')]));
  await page.locator('#import-plants td').first().waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await dialog(page)
    .getByText(/No connection to the service.*safe/)
    .waitFor();
  await dialog(page)
    .getByText(/50300.*safe/)
    .waitFor();
  await dialog(page)
    .getByText(/200: not a response of this service.*safe/)
    .waitFor();
  await says(page, 'Import finished');
  expect(await page.locator('#import-sums').textContent()).toBe('5,000 read, 5,000 new');
  expect(stored.size).toBe(5_000);
  expect(await page.locator('#import-trouble').textContent()).toBe('');
});

test('goes on in smaller parts where a connection takes a part for so long that it is lost', async () => {
  const stored = new Map();
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(stored) })).url);
  const name = 'x'.repeat(100_000);
  await drop(page, 'plants.ndjson', JSON.stringify([1, 2, 3].map((id) => `${JSON.stringify({ id, name })}\n`)));
  await page.locator('#import-plants td').first().waitFor();
  await page.clock.install();
  await page.route(/import\?/, async (route) => {
    if ((route.request().postDataBuffer()?.length ?? 0) < 200_000) return route.continue();
    await page.clock.fastForward(20_000);
    await route.abort();
  });
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '3 read, 3 new');
  expect([...stored.keys()]).toEqual([1n, 2n, 3n]);
});

test('imports the list that it shows, also where another one was chosen before and took longer to be read', async () => {
  const stored = new Map();
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(stored) })).url);
  const slowly = `window.arrayBuffer = Blob.prototype.arrayBuffer;
    const until = new Promise((resolve) => (window.goOn = resolve));
    Blob.prototype.arrayBuffer = async function () {
      const bytes = await window.arrayBuffer.call(this);
      await until;
      return bytes;
    }`;
  await drop(page, 'slow.csv', `['id,name\\n1,Ficus']`, slowly);
  await drop(page, 'shown.csv', `['id,name\\n2,Salvia']`, 'Blob.prototype.arrayBuffer = window.arrayBuffer');
  await page.locator('#import-plants').getByText('2Salvia').waitFor();
  await page.evaluate('window.goOn()');
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '1 read, 1 new');
  expect([...stored.keys()]).toEqual([2n]);
});

test('shows a list that is dropped at once after the dialog of another was closed', async () => {
  const server = await startApiServer({ plants: fakePlants(new Map()) });
  const { page } = await openPlants(server.url);
  const plants = page.locator('#import-plants');
  await drop(page, 'one.csv', `['id,name\\n1,Ficus']`);
  await plants.getByText('1Ficus').waitFor();
  await drop(page, 'two.csv', `['id,name\\n2,Salvia']`, `document.querySelector('#import-close').click()`);
  await plants.getByText('2Salvia').waitFor();
});

test('numbers a list behind all plants, also deleted ones, never to replace one, and the same list, corrected, as before', async () => {
  const deleted = [501n, 502n].map((id) => [id, 'deleted'] as const);
  const stored = new Map<bigint, NewPlant | 'deleted'>([...plantsFrom(501, 'tree'), ...deleted]);
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(stored) })).url);
  const from = dialog(page).getByLabel('numbered from');
  await drop(page, 'plants.csv', `['name,tag\\nSalvia,herb\\n,herb']`);
  await page.locator('#import-plants').getByText('504Salvia').waitFor();
  expect(await from.inputValue()).toBe('504');
  expect(await dialog(page).getByLabel('are replaced').isVisible()).toBe(false);
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '2 read, 1 new, 1 refused');
  await drop(page, 'plants.csv', `['name,tag\\nSalvia,herb\\nRosa,herb']`);
  await page.locator('#import-plants').getByText('505Rosa').waitFor();
  await says(page, 'For another list, 505 is free.');
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '2 read, 1 new, 1 there already');
  expect(stored.get(505n)).toEqual({ id: 505n, name: 'Rosa', tag: 'herb' });
});

test('says where a list cannot go on, and keeps what is before it', async () => {
  const stored = new Map();
  const server = await startApiServer({ plants: fakePlants(stored), bodyLimit: 20_000 });
  const { page } = await openPlants(server.url);
  await drop(page, 'plants.csv', `['id,name\\n1,Ficus\\n2,' + 'x'.repeat(30_000) + '\\n3,Salvia\\n']`);
  await page.locator('#import-plants td').first().waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await dialog(page)
    .getByText('Line 3 begins a record that is larger than the service takes: is a quote never closed?')
    .waitFor();
  await says(page, 'Import stopped');
  expect([...stored.keys()]).toEqual([1n]);
});

test('goes on behind a line of JSON that is too large, and keeps it among what was refused', async () => {
  const stored = new Map();
  const server = await startApiServer({ plants: fakePlants(stored), bodyLimit: 20_000 });
  const { page } = await openPlants(server.url);
  const lines = ['Ficus', 'x'.repeat(70_000), 'Salvia'].map((name, n) => JSON.stringify({ id: n + 1, name }));
  await drop(page, 'plants.ndjson', JSON.stringify([lines.join('\n')]));
  await page.locator('#import-plants td').first().waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, 'Import finished');
  expect(await page.locator('#import-sums').textContent()).toBe('3 read, 2 new, 1 refused');
  expect(await dialog(page).getByRole('textbox', { name: 'Refused' }).inputValue()).toBe(
    'Line 2: the record is larger than the service takes\n',
  );
  const { path } = await saved(page, dialog(page).getByRole('button', { name: 'Download what was refused' }));
  expect(await readFile(path, 'utf8')).toBe(`${lines[1]}\n`);
  expect([...stored.keys()]).toEqual([1n, 3n]);
});

test.each([
  ['a workbook', `['PK\\x03\\x04\\x14\\0\\x06']`, 'This is no text in UTF-8. In Excel, save the list as “CSV UTF-8”.'],
  ['UTF-16', `[new Uint8Array([255, 254, 105, 0, 100, 0])]`, 'This is no text in UTF-8.'],
  ['nothing', '[]', 'This list is empty.'],
  ['a line of separators', `[','.repeat(500_000)]`, 'The first line of this list has more than 1000 columns.'],
  ['names only', `['id,name\\n']`, 'This list has no plants.'],
])('says so when a list is none: %s', async (_what, content, message) => {
  const { page } = await openPlants((await startApiServer()).url);
  await drop(page, 'list', content);
  await dialog(page).getByText(message).waitFor();
});

test('takes a list with U+FFFD, which a plant may have', async () => {
  const { page } = await openPlants((await startApiServer()).url);
  await drop(page, 'plants.ndjson', `['{"id":1,"name":"\\uFFFD"}\\n']`);
  await page.locator('#import-plants').getByText('\uFFFD').waitFor();
});

test('keeps a text that begins with U+FEFF wherever it stands in the list', async () => {
  const stored = new Map();
  const server = await startApiServer({ plants: fakePlants(stored), bodyLimit: 1_000 });
  const { page } = await openPlants(server.url);
  await drop(
    page,
    'plants.csv',
    `['name,id\\n' + Array.from({ length: 200 }, (_, n) => '\\uFEFFFicus,' + n).join('\\n')]`,
  );
  await page.locator('#import-plants td').first().waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '200 read, 200 new');
  expect(new Set([...stored.values()].map(({ name }) => name))).toEqual(new Set(['\uFEFFFicus']));
});

test('takes a list without a line of names, and JSON with other members', async () => {
  const stored = new Map();
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(stored) })).url);
  await drop(page, 'plants.csv', `['7,Ficus,tree\\n8,Salvia,herb']`);
  for (const [label, column] of [
    ['the id', '7'],
    ['the name', 'Ficus'],
    ['the tag', 'tree'],
  ] as const) {
    await dialog(page).getByLabel(label).selectOption(column);
  }
  await dialog(page).getByLabel('The first line names the columns').uncheck();
  await page.locator('#import-plants').getByText('7Ficustree').waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '2 read, 2 new');
  await drop(page, 'plants', `[' {"id":9,"name":"Pinus","tags":"conifer"}']`);
  await says(page, 'Ignored: tags');
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '1 read, 1 new');
  await drop(page, 'plants.ndjson', `['null\\n{"id":10,"name":"Abies"}']`);
  await says(page, '2 read, 1 refused');
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, '2 read, 1 new, 1 refused');
  expect([...stored.values()]).toEqual([
    { id: 7n, name: 'Ficus', tag: 'tree' },
    { id: 8n, name: 'Salvia', tag: 'herb' },
    { id: 9n, name: 'Pinus' },
    { id: 10n, name: 'Abies' },
  ]);
});

test('keeps records that were refused as JSON, with their ids, also those without members', async () => {
  const { page } = await openPlants((await startApiServer()).url);
  await drop(page, 'plants.ndjson', `['{"tag":"herb"}\\n{}\\n { }\\n']`);
  await dialog(page).getByLabel('numbered from').fill('7');
  await dialog(page).getByLabel('numbered from').press('Enter');
  await says(page, 'Import finished');
  const { path } = await saved(page, dialog(page).getByRole('button', { name: 'Download what was refused' }));
  expect(await readFile(path, 'utf8')).toBe('{"id":7,"tag":"herb"}\n{"id":8}\n{"id":9 }\n');
});

test('gives back what was refused octet for octet, so that a spreadsheet shows the texts of an older encoding', async () => {
  const { page } = await openPlants((await startApiServer()).url);
  const list = 'id;name\r\n1;B\xe4renklau\r\n';
  await drop(page, 'plants.csv', `[Uint8Array.from(${JSON.stringify([...Buffer.from(list, 'latin1')])})]`);
  await page.locator('#import-refused').waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  await says(page, 'Import finished');
  const { path } = await saved(page, dialog(page).getByRole('button', { name: 'Download what was refused' }));
  expect(await readFile(path, 'latin1')).toBe(list);
});

test('offers only what the token permits, and no list takes the place of an edit', async () => {
  const permissions = new Set<'read' | 'create' | 'change'>(['read', 'create']);
  const verifyToken = () => permissions;
  const server = await startApiServer({ plants: fakePlants(plantsFrom(1, 'tree')), verifyToken });
  const { page } = await openPlants(server.url);
  const list = `['id,name,tag\\n0,Salvia,herb\\n']`;
  await row(page, 0).waitFor();
  await drop(page, 'plants.csv', list);
  await dialog(page).getByText('Salvia').waitFor();
  expect(await dialog(page).getByLabel('are replaced').isVisible()).toBe(false);
  await page.keyboard.press('Escape');
  await dialog(page).waitFor({ state: 'hidden' });
  permissions.add('change');
  await row(page, 0).click();
  await showsForm(page, { Name: 'Ficus 0' });
  await drop(page, 'plants.csv', list);
  await showsForm(page, { Name: 'Ficus 0' });
  expect(await dialog(page).getByText('Salvia').count()).toBe(0);
  await press(page, 'Close');
  await page.getByLabel('Name', { exact: true }).first().fill('no such plant');
  await says(page, 'No plants match.');
  await drop(page, 'plants.csv', list);
  await dialog(page).getByLabel('are replaced').waitFor();
  await page.keyboard.press('Escape');
  permissions.delete('create');
  await page.reload();
  await row(page, 0).waitFor();
  expect(await page.getByRole('button', { name: 'Import' }).isVisible()).toBe(false);
  await drop(page, 'plants.csv', list);
  expect(await page.getByRole('dialog').count()).toBe(0);
  await page.getByRole('button', { name: 'Download' }).waitFor();
});

test('downloads what the filter shows, as the spreadsheets of the country read it, or as lines of JSON', async () => {
  const stored = new Map([...plantsFrom(2, 'tree'), [7n, { id: 7n, name: 'Salvia', tag: 'herb' }]]);
  const { url } = await startApiServer({ plants: fakePlants(stored) });
  const inDialog = (page: Awaited<ReturnType<typeof download>>) =>
    dialog(page).getByRole('button', { name: 'Download' });
  const german = await download(url, 'de-DE', async (page) => {
    await row(page, 1).getByRole('button').click();
    await row(page, 7).waitFor({ state: 'detached' });
  });
  await dialog(german).getByText('The plants with the tag tree').waitFor();
  const csv = await saved(german, inDialog(german));
  expect([csv.name, await readFile(csv.path, 'utf8')]).toEqual([
    'plants.csv',
    '\uFEFFid;name;tag\r\n0;Ficus 0;tree\r\n1;Ficus 1;tree\r\n',
  ]);
  expect(await german.getByText('more than 15 digits').isVisible()).toBe(false);

  const english = await download(url, 'en-GB');
  expect(await readFile((await saved(english, inDialog(english))).path, 'utf8')).toContain(
    '\uFEFFid,name,tag\r\n0,Ficus 0,tree\r\n',
  );
  await dialog(english).getByLabel('JSON').check();
  const lines = await saved(english, inDialog(english));
  expect([lines.name, await readFile(lines.path, 'utf8')]).toEqual([
    'plants.ndjson',
    '{"id":0,"name":"Ficus 0","tag":"tree"}\n{"id":1,"name":"Ficus 1","tag":"tree"}\n{"id":7,"name":"Salvia","tag":"herb"}\n',
  ]);
});

test('downloads the plants with the name that was typed just before', async () => {
  const stored = new Map([...plantsFrom(2, 'tree'), [7n, { id: 7n, name: 'Salvia', tag: 'herb' }]]);
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(stored) })).url, TOKEN, {
    locale: 'en',
  });
  await row(page, 7).waitFor();
  await page.evaluate(`(() => {
    document.querySelector('#name').value = 'SALVIA';
    document.querySelector('#name').dispatchEvent(new Event('input', { bubbles: true }));
    document.querySelector('#download-list').click();
  })()`);
  await dialog(page).getByText('The plants whose names contain SALVIA').waitFor();
  await row(page, 0).waitFor({ state: 'detached' });
  const { path } = await saved(page, dialog(page).getByRole('button', { name: 'Download' }));
  expect(await readFile(path, 'utf8')).toBe('\uFEFFid,name,tag\r\n7,Salvia,herb\r\n');
});

test('saves nothing of a download that breaks off or that a proxy responds to, and says so', async () => {
  const plants = fakePlants(plantsFrom(20_000, 'tree'));
  let fails = true;
  const server = await startApiServer({
    plants: {
      ...plants,
      async readBatch(range, count) {
        if (fails && range.from > 10_000n) throw new Error('a fault');
        return plants.readBatch(range, count);
      },
    },
  });
  const page = await download(server.url, 'en');
  let downloads = 0;
  page.on('download', () => downloads++);
  await dialog(page).getByRole('button', { name: 'Download' }).click();
  await says(page, 'The connection broke off, so nothing was saved.');
  const page200 = { body: '<title>Sign in to this network</title>', contentType: 'text/html' };
  await page.route('**/plants?*', (route) => route.fulfill(page200), { times: 1 });
  await dialog(page).getByRole('button', { name: 'Download' }).click();
  await says(page, 'The service is not available (200: not a response of this service).');
  expect(downloads).toBe(0);
  fails = false;
  const all = await saved(page, dialog(page).getByRole('button', { name: 'Download' }));
  expect((await readFile(all.path, 'utf8')).split('\r\n')).toHaveLength(20_002);
  await eventually(() => downloads === 1);
});

test('needs nothing but the keyboard', async () => {
  const stored = new Map();
  const { page } = await openPlants((await startApiServer({ plants: fakePlants(stored) })).url);
  const focusOn = async (id: string) => {
    await eventually(async () => {
      await page.keyboard.press('Tab');
      return page.evaluate<boolean>(`document.activeElement.id === '${id}'`);
    });
  };
  // First of all, since Playwright asks Chromium for this event without waiting: a key pressed at once may come before.
  const chooser = page.waitForEvent('filechooser');
  await focusOn('import-list');
  await page.keyboard.press('Enter');
  await eventually(async () => page.evaluate<boolean>(`document.activeElement.id === 'import-file'`));
  await page.keyboard.press('Enter');
  await (await chooser).setFiles({
    name: 'list.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('id,plant\n1,Ficus\n'),
  });
  await says(page, 'Ignored: plant');
  await eventually(async () => page.evaluate<boolean>(`document.activeElement.id === 'import-name'`));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.locator('#import-plants').getByText('Ficus').waitFor();
  await page.keyboard.press('Shift+Tab');
  await eventually(async () => {
    await page.keyboard.press('Tab');
    return page.evaluate<boolean>(`document.activeElement.matches('#import .main')`);
  });
  await page.keyboard.press('Enter');
  await says(page, '1 read, 1 new');
  expect(await page.evaluate('document.activeElement.id')).toBe('import-close');
  await page.keyboard.press('Enter');
  await dialog(page).waitFor({ state: 'hidden' });
  expect(stored.get(1n)).toEqual({ id: 1n, name: 'Ficus' });
});
