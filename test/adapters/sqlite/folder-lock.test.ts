import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { LOCKED_FILE, lockFolder } from '../../../src/adapters/sqlite/file/folder-lock.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { type NodeProcess, projectFile, startNode, temporaryFolder } from '../../support/service-process.ts';

const LOCK_FOLDER = `
  import { lockFolder } from ${JSON.stringify(projectFile('src/adapters/sqlite/file/folder-lock.ts'))};
  lockFolder(process.argv[1]);`;

/** Another process, that locks the folder and says so. */
function otherHolder(folder: string): NodeProcess {
  const lockAndStay = `${LOCK_FOLDER}
    console.log('locked');
    setInterval(() => {}, 60_000);`;
  return startNode(['--input-type=module', '--eval', lockAndStay, folder], folder);
}

const locked = (holder: NodeProcess) => holder.until(() => holder.stdout() === 'locked\n');
const refusal = (folder: string) =>
  `${folder} is in use by another process: stop that one, or set DATA_DIR to another folder`;

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

test('refuses a second lock in the same process, and keeps the first', async () => {
  const folder = await temporaryFolder();
  atEnd(lockFolder(folder));
  expect(() => lockFolder(folder)).toThrow(refusal(folder));
  expect(() => lockFolder(folder)).toThrow(refusal(folder));
  const other = otherHolder(folder);
  expect(await other.exited).toMatchObject({ code: 1 });
  expect(other.stderr()).toContain(refusal(folder));
});

test('refuses a folder that another process holds, until that one is killed', async () => {
  const folder = await temporaryFolder();
  const other = otherHolder(folder);
  await locked(other);
  expect(() => lockFolder(folder)).toThrow(refusal(folder));
  other.kill('SIGKILL');
  await other.exited;
  lockFolder(folder)();
});

test('refuses a folder whose file it may not write', async () => {
  const folder = await temporaryFolder();
  await chmod(folder, 0o777);
  unprivileged(() => lockFolder(folder))();
  const file = join(folder, LOCKED_FILE);
  await chmod(file, 0o444);
  expect(() => unprivileged(() => lockFolder(folder))).toThrow(
    `${file} cannot be locked (attempt to write a readonly database): it must be an empty file that this user can write`,
  );
  await chmod(file, 0o644);
  unprivileged(() => lockFolder(folder))();
});

test('refuses a folder whose file somebody else has written, and leaves the file as it is', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, LOCKED_FILE);
  await writeFile(file, '4711\n');
  expect(() => lockFolder(folder)).toThrow(`${file} cannot be locked (file is not a database)`);
  expect(await readFile(file, 'utf8')).toBe('4711\n');
  await writeFile(file, '');
  lockFolder(folder)();
});

test('holds folders apart, and is free again after unlocking, for this process and for others', async () => {
  const folder = await temporaryFolder();
  const unlock = lockFolder(await temporaryFolder());
  lockFolder(folder)();
  lockFolder(folder)();
  await locked(otherHolder(folder));
  unlock();
});
