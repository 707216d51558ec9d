import { readdirSync, readlinkSync } from 'node:fs';
import { cp, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { enterEndpoints } from '../../src/adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../../src/adapters/sql/webhooks/positions.ts';
import { embeddedPlants, openEmbedded, plantsInFile, storedPlantsIn } from '../support/embedded-store.ts';
import { atEnd } from '../support/lifetimes.ts';
import { readPage, readToEnd } from '../support/plants/changes.ts';
import {
  AN_HOUR_LATER,
  type NodeProcess,
  projectFile,
  run as runProgram,
  startMain,
  startNode,
  temporaryFolder,
} from '../support/service-process.ts';

/* Commands on the file of a service, which runs or not. */

const ENDPOINT = 'hooks.example 0123456789abcdef';

const runWith = (environment: Record<string, string>, DATA_DIR: string, command: string, ...args: string[]) =>
  startNode([projectFile(`src/${command}.ts`), ...args], DATA_DIR, { DATA_DIR, ...environment }).outcome();
const run = (folder: string, command: string, ...args: string[]) => runWith({}, folder, command, ...args);

/** Another program's connection to the file, until the end of the test. */
function connectionTo(folder: string): DatabaseSync {
  const other = new DatabaseSync(join(folder, 'plants.db'));
  atEnd(() => other.close());
  return other;
}

/** Whether a process has a file open. */
function hasOpen({ pid }: NodeProcess, path: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((name) => readlinkSync(join(folder, name)) === path);
  } catch {
    // It has closed one meanwhile.
    return false;
  }
}

test('purge, status and migrate work with and without the service, and leave no file', async () => {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder);
  const plants = embeddedPlants(file);
  await file.run('writes', (session) => enterEndpoints(session, [ENDPOINT]));
  await plants.add({ id: 1n, name: 'Ficus' });
  const status = {
    code: 0,
    stdout: `${ENDPOINT}: no instance delivers to it now; changes waiting: 1\n`,
    stderr: `On: ${folder}\n`,
  };
  expect(await run(folder, 'webhooks')).toMatchObject(status);
  await plants.remove(1n);
  expect(await runWith(AN_HOUR_LATER, folder, 'purge', '--id', '1', '--yes')).toMatchObject({
    code: 0,
    stderr: `On: ${folder}\n1 deleted plant forgotten: the ids are free\n`,
  });
  expect(await plants.add({ id: 1n, name: 'another' })).toBe('created');
  await webhookPositions(file.run, [ENDPOINT]).take([], 60_000);
  expect((await run(folder, 'webhooks')).stdout).toBe(`${ENDPOINT}: delivers; changes waiting: 1\n`);
  expect(await run(folder, 'migrate')).toMatchObject({
    code: 0,
    stdout: 'nothing to do: the service updates this database when it starts\n',
  });
  expect(await run(folder, 'migrate', 'renew-feed')).toMatchObject({ code: 0 });
  await file.close();

  const before = await readdir(folder);
  const runs = [
    run(folder, 'webhooks', 'status'),
    run(folder, 'migrate'),
    run(folder, 'purge', '--deleted-before', '1d'),
  ];
  expect((await Promise.all(runs)).map(({ code }) => code)).toEqual([0, 0, 0]);
  expect(await readdir(folder)).toEqual(before);
});

test('copies the file to any name while the service writes; a copy ends all positions', async () => {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder);
  const plants = embeddedPlants(file);
  const add = (id: number) => plants.add({ id: BigInt(id), name: `plant ${id}`.padEnd(1_000) });
  await Promise.all(Array.from({ length: 500 }, (_, n) => add(n)));
  // SQLite would take it for a URI.
  const name = 'file:copy.db';
  const target = join(folder, name);
  let last = 499;
  let isOver = false;
  const running = run(folder, 'backup', name).finally(() => {
    isOver = true;
  });
  while (!isOver) await add(++last);
  expect(await running).toMatchObject({ code: 0, stdout: expect.stringContaining('is a copy of all that was stored') });
  expect((await stat(target)).mode & 0o777).toBe(0o600);
  const { next } = await readToEnd(plants);
  expect(await run(folder, 'backup', target)).toMatchObject({
    code: 1,
    stderr: `On: ${folder}\n${target} exists already: name another file\n`,
  });

  const restored = await temporaryFolder();
  await cp(target, join(restored, 'plants.db'));
  const copy = await openEmbedded(restored);
  expect(copy.sql.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' });
  const stored = await plantsInFile(copy);
  expect(stored.length).toBeGreaterThanOrEqual(500);
  expect(stored.map(({ id }) => Number(id))).toEqual(Array.from(stored, (_, n) => n));
  // It gives out numbers again that the follower has seen.
  const others = embeddedPlants(copy);
  for (let n = 0; n < 2_000; n++) void others.add({ id: BigInt(10_000 + n), name: 'another' });
  await others.add({ id: 9_999n, name: 'another' });
  await expect(readPage(others, next)).rejects.toMatchObject({ code: 'cursor_expired' });
});

test('a service starts beside a program that does not stop to read, and has all', async () => {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder);
  await embeddedPlants(file).add({ id: 1n, name: 'Ficus' });
  connectionTo(folder).exec('begin; select count(*) from plants');
  await embeddedPlants(file).add({ id: 2n, name: 'Ficus' });
  await file.close();
  expect(await storedPlantsIn(folder)).toHaveLength(2);
});

test('a command beside the service does not write the WAL, which would delay writes', async () => {
  const folder = await temporaryFolder();
  await embeddedPlants(await openEmbedded(folder)).add({ id: 1n, name: 'Ficus' });
  const lastWrite = async () => (await stat(join(folder, 'plants.db-wal'))).mtimeMs;
  const before = await lastWrite();
  expect(await run(folder, 'purge', '--id', '1', '--yes')).toMatchObject({ code: 0 });
  expect(await lastWrite()).toBe(before);
});

test('signals act while a start or a purge waits for the lock of another process', async () => {
  const folder = await temporaryFolder();
  await (await openEmbedded(folder)).close();
  connectionTo(folder).exec('begin immediate');
  const start = startMain(folder, { DATA_DIR: folder });
  const purge = startNode([projectFile('src/purge.ts'), '--id', '1', '--yes'], folder, { DATA_DIR: folder });
  for (const one of [start, purge]) {
    await one.eventually(async () => hasOpen(one, join(folder, 'plants.db-wal')));
    one.kill('SIGTERM');
  }
  expect(await start.outcome()).toMatchObject({ code: 1, stderr: 'Stopped at once.\n' });
  expect(await purge.outcome()).toMatchObject({
    code: 143,
    stderr: expect.stringContaining('Interrupted: 0 deleted plants forgotten so far'),
  });
});

test("a copy by sqlite3's .dump is refused in words, and served once it is as they say", async () => {
  const [folder, restored] = [await temporaryFolder(), await temporaryFolder()];
  const file = await openEmbedded(folder);
  const plants = embeddedPlants(file);
  await plants.add({ id: 1n, name: 'Ficus' });
  const { next } = await readToEnd(plants);
  await file.close();
  const copy =
    'import sqlite3, sys; a, b = map(sqlite3.connect, sys.argv[1:]); b.executescript("\\n".join(a.iterdump()))';
  const paths = [folder, restored].map((one) => join(one, 'plants.db'));
  expect(await runProgram('python3', ['-c', copy, ...paths])).toMatchObject({ code: 0 });
  await expect(openEmbedded(restored)).rejects.toThrow(
    'set the user_version of its original, which is 2 now, and run npm run migrate -- renew-feed',
  );
  connectionTo(restored).exec('pragma user_version = 2');
  expect(await run(restored, 'migrate', 'renew-feed')).toMatchObject({ code: 0 });
  const served = await openEmbedded(restored);
  expect(await plantsInFile(served)).toEqual([{ id: 1n, name: 'Ficus' }]);
  await expect(readPage(embeddedPlants(served), next)).rejects.toMatchObject({ code: 'cursor_expired' });
});

test('says how a database of Postgres is copied', async () => {
  const environment = { DATABASE_URL: 'postgres://127.0.0.1/plants' };
  const stderr = expect.stringContaining('pg_dump');
  expect(await runWith(environment, await temporaryFolder(), 'backup', 'copy.db')).toMatchObject({ code: 1, stderr });
});
