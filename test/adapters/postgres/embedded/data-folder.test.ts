import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { putDatabase } from '../../../../src/adapters/postgres/embedded/data-folder.ts';
import { temporaryFolder } from '../../../support/service-process.ts';

test('a database whose creation was interrupted is created again, and one that is there is kept', async () => {
  const folder = await temporaryFolder();
  const database = join(folder, 'postgres');
  const create = (name: string) => async (empty: string) => {
    expect(await readdir(empty)).toEqual([]);
    await writeFile(join(empty, 'PG_VERSION'), '18\n');
    await writeFile(join(empty, name), '');
    if (name === 'interrupted') throw new Error(name);
  };
  await mkdir(`${database}.unfinished`);
  await expect(putDatabase(database, create('interrupted'))).rejects.toThrow('interrupted');
  expect(await readdir(folder)).toEqual(['postgres.unfinished']);
  await putDatabase(database, create('second'));
  await putDatabase(database, create('third'));
  expect(await readdir(folder)).toEqual(['postgres']);
  expect((await readdir(database)).toSorted()).toEqual(['PG_VERSION', 'second']);
});
