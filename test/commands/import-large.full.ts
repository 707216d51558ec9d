import { appendFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { startApiServer, TOKEN } from '../support/api-server.ts';
import { counts, runImport } from '../support/programs/import-process.ts';
import { temporaryFolder } from '../support/service-process.ts';

jest.setTimeout(120_000);

test('a line that is longer than the longest string is refused and kept, and the import goes on behind it', async () => {
  const folder = await temporaryFolder();
  const { url } = await startApiServer({ bodyLimit: 1024 ** 2 });
  const path = join(folder, 'plants.ndjson');
  const size = 560_000_000;
  await writeFile(path, '{"name":"a"}\n');
  // Of U+0000, which takes no room on the disk.
  await truncate(path, size);
  await appendFile(path, '\n{"name":"b"}\n');
  const variables = { PLANT_STORE_URL: url, PLANT_STORE_TOKEN: TOKEN };
  const { code, stdout } = await runImport(['plants.ndjson', '--ids-from', '1'], folder, variables);
  expect([code, counts(stdout)]).toEqual([2, { created: 2, changed: 0, unchanged: 0, refused: 1 }]);
  expect((await stat(`${path}.rejected.ndjson`)).size).toBe(size - '{"name":"a"}\n'.length + 1);
});
