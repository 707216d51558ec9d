import { stat } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { startApiServer } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { dialog, drop, openPlants, saved } from '../../../support/programs/plants-page.ts';

/* The memory of the page while it imports a long list. */

/** By hand less or more: MEGABYTES=2000 npm run test:browser -- plants-lists-size */
const MEGABYTES = Number(process.env.MEGABYTES ?? 600);

/** Lines of JSON with names of 100,000 characters. Of each ten, one is refused, so that a tenth of the list is kept for downloading. */
const TEN_LINES = `Array.from({ length: 10 }, (_, n) => JSON.stringify({ id: n, [n === 7 ? 'nme' : 'name']: 'x'.repeat(99_970) }) + '\\n')`;

test(`imports a list of ${MEGABYTES} MB with flat memory`, async () => {
  const server = await startApiServer({ plants: fakePlants() });
  const { page } = await openPlants(server.url);
  const devtools = await page.context().newCDPSession(page);
  const memory = async () => {
    await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize } = (await devtools.send('Runtime.getHeapUsage')) as Record<string, number>;
    return ((usedSize ?? 0) + (backingStorageSize ?? 0)) / 1e6;
  };
  // The browser has the megabyte once, as it would have a file on the disk.
  await drop(page, 'long.ndjson', `Array(${MEGABYTES}).fill(new Blob(${TEN_LINES}))`);
  await page.locator('#import-plants td').first().waitFor();
  await dialog(page).getByRole('button', { name: 'Import' }).click();
  const progress = page.locator('#import-progress');
  const seen: number[] = [];
  for (const part of [0.1, 0.3, 0.5, 0.7, 0.9]) {
    await eventually(async () => Number(await progress.getAttribute('value')) > part, 600_000);
    seen.push(await memory());
  }
  await page.getByText('Import finished').waitFor({ timeout: 600_000 });
  process.stdout.write(
    `${MEGABYTES} MB: ${seen.map((size) => size.toFixed(1)).join(', ')} MB at 10, 30, 50, 70, 90 %\n`,
  );
  expect(await page.locator('#import-sums').textContent()).toContain(`${(MEGABYTES * 10).toLocaleString('en')} read`);
  const [first = 0] = seen;
  expect(Math.max(...seen)).toBeLessThan(first + 10);
  const refused = await saved(page, page.getByRole('button', { name: 'Download what was refused' }));
  expect((await stat(refused.path)).size).toBeGreaterThan(MEGABYTES * 99_000);
}, 900_000);
