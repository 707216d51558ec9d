import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LOCKED_FILE, lockFolder } from '../../../src/adapters/sqlite/file/folder-lock.ts';
import { temporaryFolder } from '../../support/service-process.ts';

/** Runs it without root's right to write every file. */
function unprivileged<T>(action: () => T): T {
  const user = process.geteuid?.();
  if (user !== 0) return action();
  process.seteuid?.(65534);
  try {
    return action();
  } finally {
    process.seteuid?.(user);
  }
}

test('refuses a folder whose file it may not write', async () => {
  const folder = await temporaryFolder();
  await chmod(folder, 0o777);
  unprivileged(() => lockFolder(folder))();
  const file = join(folder, LOCKED_FILE);
  await chmod(file, 0o444);
  expect(() => unprivileged(() => lockFolder(folder))).toThrow(
    `${folder} cannot be locked by its file lock.db (attempt to write a readonly database): make that file empty`,
  );
  await chmod(file, 0o644);
  unprivileged(() => lockFolder(folder))();
});

test('refuses a folder whose file somebody else wrote, and leaves the file as it is', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, LOCKED_FILE);
  await writeFile(file, '4711\n');
  expect(() => lockFolder(folder)).toThrow(`${folder} cannot be locked by its file lock.db (file is not a database)`);
  expect(await readFile(file, 'utf8')).toBe('4711\n');
  await writeFile(file, '');
  lockFolder(folder)();
});
