import { link, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { IMPORT, runImport } from './support/import-process.ts';
import { startProgram, temporaryFolder } from './support/service-process.ts';
import { migratedDatabase, type TestDatabase } from './support/test-database.ts';

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

  test('under the same name', async () => {
    await expectRefused(await run('plants.ndjson', '--rejected', './plants.ndjson'), './plants.ndjson', why);
  });

  test.each([
    ['a hard link', link],
    ['a symbolic link', (_: string, path: string) => symlink('plants.ndjson', path)],
  ])('through %s, for which the list or the other file may stand', async (_name, makeLink) => {
    await makeLink(join(folder, 'plants.ndjson'), join(folder, 'other.ndjson'));
    await expectRefused(await run('plants.ndjson', '--rejected', 'other.ndjson'), 'other.ndjson', why);
    await expectRefused(await run('other.ndjson', '--rejected', 'plants.ndjson'), 'plants.ndjson', why);
  });

  test('through a link by the name that it would use anyway', async () => {
    await symlink('plants.ndjson', join(folder, 'plants.ndjson.rejected.ndjson'));
    await expectRefused(await run('plants.ndjson'), 'plants.ndjson.rejected.ndjson', why);
  });

  test.each([
    ['-', 'plants.ndjson'],
    ['/dev/stdin', 'plants.ndjson'],
    ['/dev/fd/0', 'plants.ndjson'],
    ['plants.ndjson', '/dev/fd/0'],
    ['-', '/dev/fd/0'],
  ])('as standard input, with the list %s and --rejected %s', async (list, path) => {
    const args = [list, '--format', 'ndjson', '--rejected', path];
    await expectRefused(await runFromInput(...args), path, why);
  });
});

describe('before it imports anything, refuses to write what it refuses', () => {
  test('to a folder', async () => {
    await mkdir(join(folder, 'rejected'));
    await expectRefused(await run('plants.ndjson', '--rejected', 'rejected'), 'rejected', 'EISDIR');
  });

  test('below what is no folder, or in one that takes no files', async () => {
    for (const path of ['missing/rejected', 'plants.ndjson/rejected', '/proc/rejected']) {
      await expectRefused(await run('plants.ndjson', '--rejected', path), path, 'E');
    }
  });

  test('through a link to nothing', async () => {
    await symlink('missing', join(folder, 'rejected'));
    await expectRefused(await run('plants.ndjson', '--rejected', 'rejected'), 'rejected', 'ENOENT');
    expect(await readlink(join(folder, 'rejected'))).toBe('missing');
  });

  test('to a FIFO that nobody reads', async () => {
    await startProgram('mkfifo', ['rejected'], { cwd: folder }).exited;
    await expectRefused(await run('plants.ndjson', '--rejected', 'rejected'), 'rejected', 'ENXIO');
  });
});

test('writes into a FIFO that somebody reads', async () => {
  await startProgram('mkfifo', ['rejected'], { cwd: folder }).exited;
  const reading = startProgram('cat', ['rejected'], { cwd: folder });
  const [{ code }] = await Promise.all([run('plants.ndjson', '--rejected', 'rejected'), reading.exited]);
  expect([code, JSON.parse(reading.stdout())]).toEqual([2, expect.objectContaining({ line: 2, outcome: 'invalid' })]);
});

test('keeps a link, as /dev/stderr may be one, and replaces what is in the file that it leads to', async () => {
  await writeFile(join(folder, 'earlier'), 'what an earlier import has refused, which was much more\n'.repeat(10));
  await symlink('earlier', join(folder, 'rejected'));
  expect((await run('plants.ndjson', '--rejected', 'rejected')).code).toBe(2);
  expect(await readlink(join(folder, 'rejected'))).toBe('earlier');
  expect(JSON.parse(await readFile(join(folder, 'earlier'), 'utf8'))).toMatchObject({ line: 2 });
});

test('leaves no file if nothing was refused', async () => {
  await writeFile(join(folder, 'plants.ndjson'), '{"id":1,"name":"Rosa"}');
  expect((await run('plants.ndjson')).code).toBe(0);
  expect(await readdir(folder)).toEqual(['plants.ndjson']);
});
