import { link, lstat, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { forEachTest } from '../support/lifetimes.ts';
import { runImport } from '../support/programs/import-process.ts';
import { makePipe } from '../support/programs/named-pipe.ts';
import { type Outcome, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase } from '../support/test-database.ts';

/* Where an import puts what it refuses: never over the list, and somewhere that can be written. */

/** One of them is refused. */
const LIST = '{"id":1,"name":"Rosa"}\n{"id":2}\n';

const database = forEachTest(migratedDatabase);
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  await writeFile(join(folder, 'plants.ndjson'), LIST);
});

/** With the list as its standard input. */
const run = (...args: string[]) =>
  runImport(args, folder, { DATABASE_URL: database.url }, { wrapper: ['sh', '-c', 'exec "$0" "$@" < plants.ndjson'] });

async function expectRefused(outcome: Outcome, path: string, why: string): Promise<void> {
  const stderr = `^refused plants cannot be written to ${path} \\(${why}.*\\): name another file with --rejected\n$`;
  expect(outcome).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(stderr) });
  expect(await readFile(join(folder, 'plants.ndjson'), 'utf8')).toBe(LIST);
  expect(await database.query('select from plants')).toEqual([]);
}

describe('refuses to write over its own list', () => {
  const why = 'it is the list itself';

  test.each([
    ['plants.ndjson', './plants.ndjson'],
    ['-', 'plants.ndjson'],
    ['/dev/stdin', 'plants.ndjson'],
  ])('with the list %s and --rejected %s', async (list, path) => {
    await expectRefused(await run(list, '--format', 'ndjson', '--rejected', path), path, why);
  });

  test('through a hard link, for which the list or the other file may stand', async () => {
    await link(join(folder, 'plants.ndjson'), join(folder, 'other.ndjson'));
    await expectRefused(await run('plants.ndjson', '--rejected', 'other.ndjson'), 'other.ndjson', why);
    await expectRefused(await run('other.ndjson', '--rejected', 'plants.ndjson'), 'plants.ndjson', why);
  });

  test('where a symbolic link stands for the list', async () => {
    await symlink('plants.ndjson', join(folder, 'other.ndjson'));
    await expectRefused(await run('other.ndjson', '--rejected', 'plants.ndjson'), 'plants.ndjson', why);
  });
});

test('before it imports anything, refuses to write what it refuses where it cannot', async () => {
  for (const path of ['missing/rejected', 'plants.ndjson/rejected', '/proc/rejected']) {
    await expectRefused(await run('plants.ndjson', '--rejected', path), path, 'E');
  }
});

test.each([
  ['a folder', (path: string) => mkdir(path)],
  ['a link to the list', (path: string) => symlink('plants.ndjson', path)],
  ['a link to nothing', (path: string) => symlink('missing', path)],
  ['a pipe', makePipe],
])('before it imports anything, refuses to write it to %s, which stays as it is', async (_what, make) => {
  const path = join(folder, 'plants.ndjson.rejected.ndjson');
  await make(path);
  const before = await lstat(path);
  await expectRefused(await run('plants.ndjson'), 'plants.ndjson.rejected.ndjson', 'it is not a regular file');
  expect(await lstat(path)).toMatchObject({ ino: before.ino, mode: before.mode });
});
