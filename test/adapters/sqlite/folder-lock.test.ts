import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LOCKED_FILE, lockFolder } from '../../../src/adapters/sqlite/file/folder-lock.ts';
import { temporaryFolder } from '../../support/service-process.ts';

test('refuses a folder whose file somebody else wrote, and leaves the file as it is', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, LOCKED_FILE);
  await writeFile(file, '4711\n');
  expect(() => lockFolder(folder)).toThrow('by its file lock.db (file is not a database): make that file empty');
  expect(await readFile(file, 'utf8')).toBe('4711\n');
  await writeFile(file, '');
  lockFolder(folder)();
});
