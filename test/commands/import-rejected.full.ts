import { execFile } from 'node:child_process';
import { link, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { IMPORT, runImport } from '../support/programs/import-process.ts';
import { startProgram, temporaryFolder } from '../support/service-process.ts';
import { migratedDatabase, type TestDatabase } from '../support/test-database.ts';

/* Where an import puts what it refuses: never over the list, and somewhere that can be written. */

/** One of them is refused. */
const LIST = '{"id":1,"name":"Rosa"}\n{"id":2}\n';

let folder: string;
let database: TestDatabase;
let environment: { DATABASE_URL: string };
beforeEach(async () => {
  folder = await temporaryFolder();
  database = await migratedDatabase();
  environment = { DATABASE_URL: database.url };
  await writeFile(join(folder, 'plants.ndjson'), LIST);
});
afterEach(() => database.drop());

const run = (...args: string[]) => runImport(args, folder, environment);

/** With the list as its standard input. */
async function runFromInput(...args: string[]) {
  const command = ['-c', 'exec "$@" < plants.ndjson', 'sh', process.execPath, IMPORT, ...args];
  const env = { PATH: process.env.PATH, ...environment };
  const importing = startProgram('sh', command, { cwd: folder, env });
  const { code } = await importing.exited;
  return { code, stdout: importing.stdout(), stderr: importing.stderr() };
}

async function expectRefused(outcome: { code: number | null; stdout: string; stderr: string }, path: string, why = '') {
  const stderr = `refused plants cannot be written to ${path} (${why}`;
  expect(outcome).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(stderr) });
  expect(outcome.stderr).toMatch(/\): name another file with --rejected\n$/);
  expect(await readFile(join(folder, 'plants.ndjson'), 'utf8')).toBe(LIST);
  expect(await database.query('select from plants')).toEqual([]);
}

describe('refuses to write over its own list', () => {
  const why = 'it is the list itself)';

  test.each([
    ['plants.ndjson', './plants.ndjson'],
    ['-', 'plants.ndjson'],
    ['/dev/stdin', 'plants.ndjson'],
  ])('with the list %s and --rejected %s', async (list, path) => {
    await expectRefused(await runFromInput(list, '--format', 'ndjson', '--rejected', path), path, why);
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
  ['a pipe', (path: string) => promisify(execFile)('mkfifo', [path])],
])('before it imports anything, refuses to write it to %s, which stays as it is', async (_what, make) => {
  const path = join(folder, 'plants.ndjson.rejected.ndjson');
  await make(path);
  const before = await lstat(path);
  await expectRefused(await run('plants.ndjson'), 'plants.ndjson.rejected.ndjson', 'it is not a regular file)');
  expect(await lstat(path)).toMatchObject({ ino: before.ino, mode: before.mode });
});

test('leaves no file if nothing was refused', async () => {
  await writeFile(join(folder, 'plants.ndjson'), '{"id":1,"name":"Rosa"}');
  expect((await run('plants.ndjson')).code).toBe(0);
  expect(await readdir(folder)).toEqual(['plants.ndjson']);
});
