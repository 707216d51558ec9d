import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { apiClient } from '../../../support/api-client.ts';
import { TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import {
  cells,
  databases,
  dialog,
  drop,
  openPlants,
  press,
  row,
  saved,
  says,
} from '../../../support/programs/plants-page.ts';
import { run, temporaryFolder } from '../../../support/service-process.ts';

/* Lists on the page, in a real Chromium against the whole service: from a spreadsheet, back to it, and in again. */

const LINES = 100_000;

/** As Excel writes it in German, with mistakes in lines 12, 50,002 and 100,001: the first line has the names. */
function listFromExcel(): string {
  const lines = Array.from({ length: LINES }, (_, n) => `Pflanze ${n + 1};${['Baum', 'Kraut'][n % 2]};grün`);
  lines[10] = ';Baum;grün';
  lines[50_000] = 'Ficus "alba";Baum;grün';
  lines[LINES - 1] = 'Letzte;Baum;grün;zu viel';
  return `\uFEFFName;tags;Farbe\r\n${lines.join('\r\n')}\r\n`;
}

/** What somebody does in a spreadsheet: every tag becomes another one. */
const EDIT = `
import csv, sys
rows = list(csv.reader(open(sys.argv[1], encoding='utf-8-sig', newline=''), delimiter=';'))
for row in rows[1:]: row[2] = row[2].upper()
csv.writer(open(sys.argv[2], 'w', encoding='utf-8', newline=''), delimiter=';').writerows(rows)`;

/** Longer than a busy machine takes for the whole list. */
const finished = (page: Page) => page.getByText('Import finished').waitFor({ timeout: 300_000 });
const sums = (page: Page) => page.locator('#import-sums');

describe.each(databases)('on %s', (_name, start) => {
  const service = forEachTest(() => start());
  const others = forEachTest(async () => apiClient(service.apiUrl));
  const stored = async (id: number) => JSON.parse((await others.send('GET', `/plants/${id}`)).body);

  test('brings a list from a spreadsheet, what was refused of it once it is corrected, and the whole list when it was changed', async () => {
    const { page } = await openPlants(service.apiUrl, TOKEN, { locale: 'de-DE' });
    const pressInDialog = (name: string) => dialog(page).getByRole('button', { name, exact: true }).click();
    const list = listFromExcel();
    const prepare = async () => {
      await drop(page, 'Pflanzen.csv', JSON.stringify([list]));
      await says(page, 'Ignored: tags, Farbe');
      await dialog(page).getByLabel('the tag').selectOption('tags');
      await page.getByText('Ignored: Farbe', { exact: true }).waitFor();
    };
    await prepare();
    await dialog(page).getByLabel('numbered from').fill('1');
    await page.keyboard.press('Tab');
    const first = page.locator('#import-plants tr');
    await first.getByText('5Pflanze 5Baum').waitFor();
    expect(await first.allTextContents()).toEqual(
      ['Baum', 'Kraut', 'Baum', 'Kraut', 'Baum'].map((tag, n) => `${n + 1}Pflanze ${n + 1}${tag}`),
    );
    expect(await page.locator('#import-refused').inputValue()).toMatch(/^Line 12: name is missing/);

    // Stopped while its third part is on its way.
    let parts = 0;
    await page.route(/import\?/, async (route) => {
      if (++parts === 3) await says(page, 'Import stopped');
      await route.continue().catch(() => {});
    });
    await pressInDialog('Import');
    await eventually(() => parts === 3);
    await pressInDialog('Stop');
    await says(page, 'What has been imported stays.');
    await page.unroute(/import\?/);
    expect(await stored(1)).toEqual({ id: 1, name: 'Pflanze 1', tag: 'Baum' });
    await pressInDialog('Close');

    // Again, it gets the same ids, also in a page that was loaded again.
    await page.reload();
    await prepare();
    expect(await dialog(page).getByLabel('numbered from').inputValue()).toBe('1');
    await pressInDialog('Import');
    await finished(page);
    expect(await sums(page).textContent()).toMatch(/^100,000 read, [\d,]+ new, [\d,]+ there already, 3 refused$/);
    const reasons = (await page.locator('#import-refused').inputValue()).split('\n');
    expect(reasons.map((reason) => reason.split(':')[0])).toEqual(['Line 12', 'Line 50,002', 'Line 100,001', '']);

    const refused = await saved(page, dialog(page).getByRole('button', { name: 'Download what was refused' }));
    expect(refused.name).toBe('Pflanzen.csv.rejected.csv');
    const rejected = await readFile(refused.path, 'utf8');
    expect(rejected).toBe(
      '\uFEFFid;name;tag;Farbe\r\n11;;Baum;grün\r\n50001;Ficus "alba";Baum;grün\r\n100000;Letzte;Baum;grün;zu viel\r\n',
    );
    await pressInDialog('Close');
    const corrected = rejected.replace(';;', ';Elfte;').replace('"alba"', 'alba').replace(';zu viel', '');
    await drop(page, 'corrected.csv', JSON.stringify([corrected]));
    await page.locator('#import-plants').getByText('50001Ficus albaBaum').waitFor();
    await pressInDialog('Import');
    await finished(page);
    expect(await sums(page).textContent()).toBe('3 read, 3 new');
    await pressInDialog('Close');
    expect(await stored(50_001)).toEqual({ id: 50_001, name: 'Ficus alba', tag: 'Baum' });

    await press(page, 'Download');
    const all = await saved(page, dialog(page).getByRole('button', { name: 'Download' }));
    expect(all.name).toBe('plants.csv');
    const csv = await readFile(all.path, 'utf8');
    expect(csv.slice(0, 60)).toContain('\uFEFFid;name;tag\r\n1;Pflanze 1;Baum\r\n');
    expect(csv.split('\r\n')).toHaveLength(LINES + 2);
    await pressInDialog('Close');

    const changed = join(await temporaryFolder(), 'changed.csv');
    expect(await run('python3', ['-c', EDIT, all.path, changed])).toMatchObject({ code: 0 });
    const { page: second } = await openPlants(service.apiUrl);
    await row(second, 1).waitFor();
    await press(page, 'Import');
    await page.setInputFiles('#import-file', changed);
    await page.locator('#import-plants').getByText('1Pflanze 1BAUM').waitFor();
    await dialog(page).getByLabel('are replaced').check();
    await pressInDialog('Import');
    await finished(page);
    expect(await sums(page).textContent()).toBe('100,000 read, 100,000 replaced');
    await row(second, 1).getByText('BAUM').waitFor();
    expect(await cells(second, 2)).toEqual(['2', 'Pflanze 2', 'KRAUT']);
    await pressInDialog('Close');
    await row(page, 1).getByText('BAUM').waitFor();

    await page.getByLabel('Name', { exact: true }).first().fill('FICUS alba');
    await page.getByText('1 plant', { exact: true }).waitFor();
    expect(await cells(page, 50_001)).toEqual(['50001', 'Ficus alba', 'BAUM']);
    await press(page, 'Download');
    await dialog(page).getByText('The plants whose names contain FICUS alba').waitFor();
    const found = await saved(page, dialog(page).getByRole('button', { name: 'Download' }));
    expect(await readFile(found.path, 'utf8')).toBe('\uFEFFid;name;tag\r\n50001;Ficus alba;BAUM\r\n');
  }, 600_000);
});
