import { expect, test } from '@jest/globals';
import { lockFolder } from '../../../src/adapters/postgres/folder-lock.ts';
import { type NodeProcess, projectFile, startNode, temporaryFolder } from '../../support/service-process.ts';

/** Another process, that locks the folder and says so. */
function otherHolder(folder: string): NodeProcess {
  const script = `
    import { lockFolder } from ${JSON.stringify(projectFile('src/adapters/postgres/folder-lock.ts'))};
    lockFolder(process.argv[1]);
    console.log('locked');
    setInterval(() => {}, 60_000);`;
  return startNode(['--input-type=module', '--eval', script, folder], folder);
}

const locked = (holder: NodeProcess) => holder.until(() => holder.stdout() === 'locked\n');
const refusal = (folder: string) =>
  `${folder} is in use by another process: stop that one, or set DATA_DIR to another folder`;

test('refuses a second lock in the same process, and keeps the first', async () => {
  const folder = await temporaryFolder();
  const unlock = lockFolder(folder);
  try {
    expect(() => lockFolder(folder)).toThrow(refusal(folder));
    expect(() => lockFolder(folder)).toThrow(refusal(folder));
    const other = otherHolder(folder);
    expect(await other.exited).toMatchObject({ code: 1 });
    expect(other.stderr()).toContain(refusal(folder));
  } finally {
    unlock();
  }
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

test('is free again after unlocking, for this process and for others', async () => {
  const folder = await temporaryFolder();
  lockFolder(folder)();
  lockFolder(folder)();
  await locked(otherHolder(folder));
});

test('holds folders apart', async () => {
  const unlock = lockFolder(await temporaryFolder());
  lockFolder(await temporaryFolder())();
  unlock();
});
