import { appendFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import type { NewPlant } from '../../src/domain/plant.ts';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { collectorsLists, inWords } from '../support/plants/collectors-lists.ts';
import { counts, runImport } from '../support/programs/import-process.ts';
import { temporaryFolder } from '../support/service-process.ts';

jest.setTimeout(120_000);

/** A service on a store in memory, and the import of a list in a folder to it. */
async function setUp(bodyLimit: number) {
  const [folder, stored] = [await temporaryFolder(), new Map<bigint, NewPlant>()];
  const { url } = await startApiServer({ plants: fakePlants(stored), bodyLimit });
  const run = (...args: string[]) => runImport(args, folder, { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN });
  return { folder, stored, run };
}

test('a line that is longer than the longest string is refused and kept, and the import goes on behind it', async () => {
  const { folder, run } = await setUp(1024 ** 2);
  const path = join(folder, 'plants.ndjson');
  const size = 560_000_000;
  await writeFile(path, '{"name":"a"}\n');
  // Of U+0000, which takes no room on the disk.
  await truncate(path, size);
  await appendFile(path, '\n{"name":"b"}\n');
  const { code, stdout } = await run('plants.ndjson', '--ids-from', '1');
  expect([code, counts(stdout)]).toEqual([2, { created: 2, changed: 0, unchanged: 0, refused: 1 }]);
  expect((await stat(`${path}.rejected.ndjson`)).size).toBe(size - '{"name":"a"}\n'.length + 1);
});

test('of a collector, reads what others read, and says what is refused', async () => {
  const { folder, stored, run } = await setUp(100);
  for (const { list, query = {}, plants, refused = [], problem, name } of collectorsLists) {
    stored.clear();
    await writeFile(join(folder, 'list.csv'), list);
    const options = Object.entries(query).map(([option, value]) => `--${option}=${value}`);
    const { code, stderr } = await run('list.csv', ...options);
    if (problem !== undefined) {
      expect([name, code, stderr]).toEqual([name, 1, expect.stringContaining(problem)]);
      continue;
    }
    expect([name, [...stored.values()].map(inWords), code]).toEqual([name, plants, refused.length > 0 ? 2 : 0]);
    for (const [line, why] of refused) expect(stderr).toMatch(new RegExp(`line ${line}: .*${RegExp.escape(why)}`));
  }
});

test('in another encoding, of which only the last of 50,000 records has a character, knows it for the first part', async () => {
  const { folder, stored, run } = await setUp(1024 ** 2);
  const records = Array.from({ length: 50_000 }, (_, n) => `${n};Rosa number ${n}\n`);
  const list = Buffer.from(`Nr;Pflanze\n${records.join('')}-1;B\xe4renklau`, 'latin1');
  await writeFile(join(folder, 'long.csv'), list);
  expect(counts((await run('long.csv')).stdout)).toMatchObject({ created: 50_001, refused: 0 });
  expect(stored.get(-1n)).toEqual({ id: -1n, name: 'Bärenklau' });
});
