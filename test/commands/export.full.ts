import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createPlant } from '../../src/application/create-plant.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { openTransaction } from '../support/disturbances.ts';
import { eventually } from '../support/eventually.ts';
import { forEachTest } from '../support/lifetimes.ts';
import { runImport } from '../support/programs/import-process.ts';
import { projectFile, startNode, temporaryFolder } from '../support/service-process.ts';
import { connect, migratedDatabase, plantsIn, storedPlantsAt, type TestDatabase } from '../support/test-database.ts';

/* npm run export as its own process, as people meet it. */

const database = forEachTest(migratedDatabase);
let folder: string;
beforeEach(async () => {
  folder = await temporaryFolder();
});

const start = (args: readonly string[], environment: Record<string, string> = { DATABASE_URL: database.url }) =>
  startNode([projectFile('src/export.ts'), ...args], folder, environment);

const run = (...args: readonly string[]) => start(args).outcome();

async function store(plants: readonly NewPlant[]): Promise<void> {
  const connection = connect(database.url);
  await Promise.all(plants.map(createPlant(plantsIn(connection))));
  await connection.close();
}

async function stored({ url }: TestDatabase): Promise<NewPlant[]> {
  const plants = await storedPlantsAt(url);
  return plants.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

const read = (name: string) => readFile(join(folder, name), 'utf8');

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', '\uFEFF', ' ', '\\', 'é', '\u{1F339}', '\u0001', 'x') }),
  fc.constantFrom('', '""', '\r\n', 'id,name,tag'),
);
const plant = fc.record(
  { id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), name: text, tag: text },
  { requiredKeys: ['id', 'name'] },
);

describe.each(['ndjson', 'csv'])('as %s', (format) => {
  test('writes what an import into an empty store makes the same table of', async () => {
    const [plants = []] = fc.sample(fc.uniqueArray(plant, { selector: ({ id }) => id, minLength: 60 }), 1);
    await store(plants);
    expect(await run(`plants.${format}`)).toMatchObject({ code: 0, stdout: '' });
    const other = await migratedDatabase();
    const imported = await runImport([`plants.${format}`], folder, { DATABASE_URL: other.url });
    expect(imported).toMatchObject({ code: 0 });
    expect(await stored(other)).toEqual(await stored(database));
  });
});

test('writes the plants in the order of their ids, and says how many', async () => {
  await store([
    { id: 2n ** 63n - 1n, name: 'Pinus longaeva', tag: 'conifer' },
    { id: -1n, name: 'Rosa "Peace"' },
    { id: 7n, name: '', tag: '' },
  ]);
  const stderr = expect.stringMatching(/^3 plants in \d+\.\d s, [\d,]+\/s\n$/);
  expect(await run('plants.csv')).toEqual({ code: 0, stdout: '', stderr });
  expect(await read('plants.csv')).toBe(
    'id,name,tag\n-1,"Rosa ""Peace""",\n7,"",""\n9223372036854775807,Pinus longaeva,conifer\n',
  );
});

test('writes only the plants with a tag, and after an id', async () => {
  await store([1n, 2n, 3n, 4n].map((id) => ({ id, name: 'Acer', tag: id === 3n ? 'b' : 'a' })));
  expect(await run('-', '--format', 'ndjson', '--tag', 'a', '--after=1')).toMatchObject({
    code: 0,
    stdout: '{"id":2,"name":"Acer","tag":"a"}\n{"id":4,"name":"Acer","tag":"a"}\n',
  });
});

test('replaces no file without --force', async () => {
  await writeFile(join(folder, 'plants.csv'), 'mine');
  const stderr = 'plants.csv exists: name another file, or replace it with --force\n';
  expect(await run('plants.csv')).toEqual({ code: 1, stdout: '', stderr });
  expect(await read('plants.csv')).toBe('mine');
  expect(await run('plants.csv', '--force')).toMatchObject({ code: 0 });
  expect(await read('plants.csv')).toBe('id,name,tag\n');
});

test('keeps mode and owner of a file that it replaces, also while it is written', async () => {
  await database.query(`insert into plants select n, 'Acer' from generate_series(1, 3) n`);
  const file = join(folder, 'plants.csv');
  await writeFile(file, 'mine');
  await chmod(file, 0o640);
  // Only root may give files away.
  const owner = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_533 } : await stat(file);
  await chown(file, owner.uid, owner.gid);
  const expected = { uid: owner.uid, gid: owner.gid, mode: 0o100640 };
  const lock = await lockTable();
  const exporting = start(['plants.csv', '--force']);
  await eventually(async () => (await readdir(folder)).length === 2);
  expect(await stat(`${file}.partial`)).toMatchObject(expected);
  await lock.end();
  expect(await exporting.exited).toMatchObject({ code: 0 });
  expect(await stat(file)).toMatchObject(expected);
  expect(await read('plants.csv')).toContain('Acer');
});

test('replaces the file behind a link, and keeps the link', async () => {
  await writeFile(join(folder, 'real.csv'), 'old');
  await symlink('real.csv', join(folder, 'plants.csv'));
  expect(await run('plants.csv', '--force')).toMatchObject({ code: 0 });
  expect(await read('real.csv')).toBe('id,name,tag\n');
});

test.each([
  ['/dev/null', '/dev/null is not a regular file: name another one, or - for standard output\n'],
  ['device.csv', 'device.csv is not a regular file: name another one, or - for standard output\n'],
  ['nothing.csv', 'nothing.csv is a link to nothing: remove it, or name another file\n'],
])('refuses a device, which it would replace by a file, and a link to one or to nothing: %s', async (name, stderr) => {
  await symlink('/dev/null', join(folder, 'device.csv'));
  await symlink('missing.csv', join(folder, 'nothing.csv'));
  for (const more of [[], ['--force']]) {
    expect(await run(name, '--format', 'csv', ...more)).toMatchObject({ code: 1, stderr });
  }
});

test('refuses a file that cannot be created, in one line', async () => {
  expect(await run('missing/plants.csv')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'missing/plants.csv cannot be written ' +
      "(ENOENT: no such file or directory, open 'missing/plants.csv.partial'): fix that, or name another file\n",
  });
});

test('of two exports to one file, the second is refused and the first is whole', async () => {
  await database.query(`insert into plants select n, 'Acer' from generate_series(1, 3) n`);
  const lock = await lockTable();
  const first = start(['plants.csv']);
  await eventually(async () => (await readdir(folder)).length === 1);
  expect(await run('plants.csv', '--force')).toMatchObject({
    code: 1,
    stderr:
      'plants.csv.partial exists: another export is writing plants.csv, or one was killed; ' +
      'if none is running, remove it\n',
  });
  await lock.end();
  expect(await first.exited).toMatchObject({ code: 0 });
  expect(await read('plants.csv')).toBe('id,name,tag\n1,Acer,\n2,Acer,\n3,Acer,\n');
  expect(await readdir(folder)).toEqual(['plants.csv']);
});

test('of a mistyped DATA_DIR creates neither a database nor a list', async () => {
  const stderr = 'there is no database in mistyped: npm start creates one there, or set DATA_DIR\n';
  expect(await start(['plants.csv'], { DATA_DIR: 'mistyped' }).outcome()).toEqual({ code: 1, stdout: '', stderr });
  expect(await readdir(folder)).toEqual([]);
});

test('leaves nothing behind when it is interrupted', async () => {
  await lockTable();
  const waiting = start(['plants.csv']);
  await eventually(async () => (await readdir(folder)).length === 1);
  waiting.kill('SIGTERM');
  expect(await waiting.exited).toEqual({ code: 143, signal: null });
  expect(await readdir(folder)).toEqual([]);
});

/** Holds up every export until it is ended. */
const lockTable = () => openTransaction(database.directUrl, 'lock table plants in access exclusive mode');

/** An export of much more than a pipe holds, whose standard output only the test reads. */
async function startForReader() {
  await database.query(`insert into plants select n, repeat('x', 100000) from generate_series(1, 200) n`);
  return spawn(process.execPath, [projectFile('src/export.ts'), '-', '--format', 'ndjson'], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

test('ends with an error when its reader leaves, as in a pipe to head', async () => {
  const child = await startForReader();
  child.stdout.once('data', () => child.stdout.destroy());
  const [code] = await once(child, 'exit');
  expect(code).toBe(1);
});

test('ends at the first signal though its reader has stalled', async () => {
  const child = await startForReader();
  await once(child.stdout, 'readable');
  child.kill('SIGINT');
  const kill = setTimeout(() => child.kill('SIGKILL'), 10_000);
  const [code] = await once(child, 'exit');
  clearTimeout(kill);
  expect(code).toBe(130);
});

test('a list is never complete under its name when the database fails', async () => {
  await database.query(`alter table plants rename to flowers`);
  expect(await run('plants.csv')).toMatchObject({ code: 1, stderr: expect.stringMatching(/./) });
  expect(await readdir(folder)).toEqual([]);
});

test('says why it refuses its arguments, and where to get help', async () => {
  const stderr = expect.stringMatching(/^no list is named: .*\nFor help: npm run export -- --help\n$/);
  expect(await run()).toEqual({ code: 1, stdout: '', stderr });
});
