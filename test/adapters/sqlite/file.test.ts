import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { plantPurge } from '../../../src/adapters/sql/changes/purge.ts';
import { backUp } from '../../../src/adapters/sqlite/backup.ts';
import { withDatabaseFile } from '../../../src/adapters/sqlite/command-file.ts';
import { withAdvice } from '../../../src/adapters/sqlite/file/failures.ts';
import { problemsIn } from '../../../src/adapters/sqlite/readiness.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { embeddedPlants, openEmbedded, plantsInFile, writeBeside } from '../../support/embedded-store.ts';
import { eventually } from '../../support/eventually.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { readToEnd } from '../../support/plants/changes.ts';
import { temporaryFolder } from '../../support/service-process.ts';

/* What only a file shows: how it is opened, what its writes share, and what it does when something is wrong with it. */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });

/** Another program's connection to the file, until the end of the test. */
function connectionTo(folder: string): DatabaseSync {
  const other = new DatabaseSync(join(folder, 'plants.db'), { timeout: 0 });
  atEnd(() => other.close());
  return other;
}

function fail(): never {
  throw new Error('a defect');
}

async function opened(timeout?: number) {
  const folder = await temporaryFolder();
  const file = await openEmbedded(folder, timeout);
  return { folder, file, plants: embeddedPlants(file) };
}

test('only its user can read the file, and closing leaves nothing but it and the lock', async () => {
  const { folder, file, plants } = await opened();
  await plants.add(plant(1n));
  for (const name of ['plants.db', 'plants.db-wal', 'plants.db-shm']) {
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  }
  await file.close();
  expect((await readdir(folder)).sort()).toEqual(['lock.db', 'plants.db']);
});

test('a file of the version before is brought up to this one, and its followers go on', async () => {
  const { folder, file, plants } = await opened();
  await plants.add(plant(1n));
  const { next } = await readToEnd(plants);
  await file.close();
  const before = 'drop index plants_by_change; create unique index plants_by_change on plants (changed)';
  connectionTo(folder).exec(`${before}; pragma user_version = 1`);
  await expect(withDatabaseFile(folder, async () => {})).rejects.toThrow('npm start does that');
  const now = embeddedPlants(await openEmbedded(folder));
  await Promise.all([2n, 3n, 4n].map((id) => now.add(plant(id))));
  expect((await readToEnd(now, next)).changes).toEqual([2n, 3n, 4n].map((id) => plant(id)));
});

test.each<[string, (folder: string) => Promise<unknown>, RegExp]>([
  [
    'no database',
    (folder) => writeFile(join(folder, 'plants.db'), 'x'.repeat(5_000)),
    /not an SQLite database: restore/,
  ],
  [
    'one of a newer version',
    async (folder) => {
      await (await openEmbedded(folder)).close();
      const other = connectionTo(folder);
      other.exec('pragma user_version = 1000');
      other.close();
      atEnd(() => other.open());
    },
    /newer Plant Store .* restore the backup/,
  ],
  ...(['gone', 'empty', 'a backup'] as const).map((what): [string, (folder: string) => Promise<unknown>, RegExp] => [
    `a database that is ${what}, and a WAL`,
    async (folder) => {
      const path = join(folder, 'plants.db');
      if (what === 'empty') await writeFile(path, '');
      if (what === 'a backup') {
        await (await openEmbedded(folder)).close();
        await backUp(folder, join(folder, 'copy.db'));
        await rename(join(folder, 'copy.db'), path);
      }
      await writeFile(`${path}-wal`, 'x'.repeat(5_000));
    },
    /is missing, empty or another database, and what was written last is only in .*plants\.db-wal/,
  ]),
  [
    'one of version 1.0.0 only',
    async (folder) => {
      await mkdir(join(folder, 'postgres'));
      await writeFile(join(folder, 'postgres/PG_VERSION'), '18\n');
    },
    /start version 1\.0\.0 on it, download all plants|there is no database/,
  ],
])('a service and a command refuse a folder with %s, in words, and leave it as it is', async (_, prepare, message) => {
  const folder = await temporaryFolder();
  await prepare(folder);
  const files = async () => (await readdir(folder, { recursive: true })).filter((name) => name !== 'lock.db');
  const before = await files();
  await expect(openEmbedded(folder)).rejects.toThrow(message);
  await expect(withDatabaseFile(folder, ({ run }) => run('writes', async () => {}))).rejects.toThrow(message);
  expect(await files()).toEqual(before);
});

test('a purge finds them all, however many there are, in transactions of at most 500', async () => {
  const { file, plants } = await opened();
  const all = Array.from({ length: 1_201 }, (_, n) => BigInt(n));
  await Promise.all(all.map((id) => plants.add(plant(id))));
  await Promise.all(all.map((id) => plants.remove(id)));
  const purged = await Array.fromAsync(plantPurge(file.run)({ minAge: 0, id: undefined }, false));
  expect(purged).toEqual([500, 500, 201]);
});

test('of two backups to one file, one writes it, and nothing else is left', async () => {
  const { folder } = await opened();
  const target = join(await temporaryFolder(), 'copy.db');
  const outcomes = await Promise.allSettled([backUp(folder, target), backUp(folder, target)]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(await readdir(dirname(target))).toEqual(['copy.db']);
});

/** Commits in a WAL: the last frame of each says how many pages the database has then (sqlite.org/fileformat2.html). */
function commitsIn(wal: Buffer): number {
  const frames = Array.from({ length: (wal.length - 32) / (24 + 4_096) }, (_, n) => 32 + n * (24 + 4_096));
  return frames.filter((start) => wal.readUInt32BE(start + 4) > 0).length;
}

test('writes that arrive together share a commit, also if one of them fails', async () => {
  const { folder, file, plants } = await opened();
  const commits = () => commitsIn(readFileSync(join(folder, 'plants.db-wal')));
  const before = commits();
  await plants.find(0n);
  // As requests do: each in a callback of its own, in one turn of the event loop.
  const arrivals = Array.from({ length: 32 }, () => new Promise(setImmediate));
  await Promise.all(arrivals.map((arrival, n) => arrival.then(() => plants.add(plant(BigInt(n))))));
  expect(commits() - before).toBe(1);
  file.sql.exec(`create trigger refusal before insert on plants when new.name = 'refused' begin
    select raise(abort, 'refused'); end`);
  const others = [plant(500n), plant(501n, 'refused'), plant(502n)].map((one) => plants.add(one));
  expect((await Promise.allSettled(others)).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
  ]);
  expect(await plantsInFile(file)).toHaveLength(34);
});

/** Some milliseconds each: more than a group takes arrive in each turn. */
const slow = () => {
  for (const end = performance.now() + 3; performance.now() < end; );
};

test.each([
  ['that take long', slow],
  ['that fail', fail],
])('a write of the background is done beside any number of others %s', async (_what, work) => {
  const { file } = await opened(500);
  let isOver = false;
  const flood = async () => {
    while (!isOver) await file.run('writes', async () => work()).catch(() => {});
  };
  const flooding = Promise.all(Array.from({ length: 10 }, flood));
  const until = performance.now() + 20_000;
  expect(await file.executeWithRetry('backgroundWrites', async () => 'done', { until })).toEqual({ result: 'done' });
  isOver = true;
  await flooding;
});

test('while another program writes, writes wait for it, and are done at most once', async () => {
  const { file, folder, plants } = await opened(300);
  const other = connectionTo(folder);
  other.exec('begin immediate');
  const [waiting, late] = [plants.add(plant(1n)), plants.add(plant(2n))];
  await expect(late).rejects.toMatchObject({ code: 'store_unavailable' });
  await expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await plants.find(1n)).toBeUndefined();
  // With more time than a busy machine takes.
  const next = embeddedPlants(file).add(plant(3n));
  other.exec('commit');
  expect(await next).toBe('created');
  expect(await plants.find(2n)).toBeUndefined();
});

test.each(['plants.db', 'plants.db-wal', 'lock.db'])('nothing is stored once %s is gone or replaced', async (name) => {
  const { folder, plants } = await opened();
  await plants.add(plant(1n));
  const [path, aside] = [join(folder, name), join(folder, 'aside')];
  await rename(path, aside);
  // The files are checked before each turn of the event loop.
  await eventually(() =>
    plants.find(1n).then(
      () => false,
      () => true,
    ),
  );
  for (const replace of [() => {}, () => writeFile(path, '')]) {
    await replace();
    await expect(plants.add(plant(2n))).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(plants.find(1n)).rejects.toMatchObject({
      cause: { message: expect.stringMatching('was deleted or replaced') },
    });
  }
  await rm(path);
  await rename(aside, path);
  expect(await plants.add(plant(2n))).toBe('created');
});

test('a command that ends or is stopped waits for no process, and says why it failed', async () => {
  const { folder, file } = await opened();
  await file.close();
  connectionTo(folder).exec('begin immediate');
  const stop = AbortSignal.abort('stopped');
  await expect(withDatabaseFile(folder, ({ run }) => run('writes', async () => {}), stop)).rejects.toBe('stopped');
  await expect(withDatabaseFile(folder, async () => fail())).rejects.toThrow('a defect');
  expect(await withDatabaseFile(folder, async () => 'done')).toBe('done');
});

/** Opens a file with 500 plants after some of its pages were damaged. */
async function damaged(pagesOf: (path: string, bytes: Buffer) => readonly [first: number, end?: number]) {
  const { folder, file, plants } = await opened();
  await Promise.all(Array.from({ length: 500 }, (_, n) => plants.add(plant(BigInt(n), `${n}:`.padEnd(500)))));
  await file.close();
  const path = join(folder, 'plants.db');
  const bytes = readFileSync(path);
  const [first, end = Infinity] = pagesOf(path, bytes);
  bytes.fill(0xff, 4_096 * first, Math.min(4_096 * end, bytes.length));
  await writeFile(path, bytes);
  const again = await openEmbedded(folder);
  return { file: again, plants: embeddedPlants(again) };
}

test('damaged pages are said in words, and fail neither the process nor the next read', async () => {
  const { file, plants } = await damaged(() => [12]);
  await expect(plants.list({ from: 0n, to: 1_000n }, 1_000)).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await plants.list({ from: 0n, to: 0n }, 1)).toMatchObject({ plants: [{ id: 0n }] });
  expect(file.recentProblem()).toMatch('it is damaged: restore a backup');
  expect(file.ended).toEqual([]);
});

test('a write that meets a damaged page fails alone, and the next ones go on', async () => {
  const { file, plants } = await damaged((_path, bytes) => {
    const page = Math.floor(bytes.indexOf('400:') / 4_096);
    return [page, page + 1];
  });
  const all = Array.from({ length: 200 }, (_, n) =>
    plants.replace(plant(n % 20 === 10 ? 400n : BigInt(n % 20), `other ${n}`)),
  );
  const outcomes = await Promise.allSettled(all);
  for (const [n, { status }] of outcomes.entries()) expect(status).toBe(n % 20 === 10 ? 'rejected' : 'fulfilled');
  expect(file.recentProblem()).toMatch('it is damaged: restore a backup');
  expect(file.ended).toEqual([]);
});

test('a damaged page that only its check reads makes it not ready, in words', async () => {
  const { file } = await damaged((path) => {
    const sql = new DatabaseSync(path);
    const row = sql.prepare("select rootpage from sqlite_schema where name = 'webhooks'").get();
    sql.close();
    return [Number(row?.rootpage) - 1, Number(row?.rootpage)];
  });
  const check = problemsIn(file, ['hooks.example']).catch((error) => Promise.reject(withAdvice(error)));
  await expect(check).rejects.toThrow('it is damaged: restore a backup');
});

test('the thread of a checkpoint leaves alone a file that has replaced the database', async () => {
  const path = join(await temporaryFolder(), 'plants.db');
  await writeFile(path, 'a backup');
  const program = new URL('../../../src/adapters/sqlite/file/checkpoint-thread.ts', import.meta.url);
  const thread = new Worker(program, { workerData: { path, ino: 0n } });
  await expect(once(thread, 'exit')).rejects.toThrow('was replaced');
  expect(readFileSync(path, 'utf8')).toBe('a backup');
});

test('others are served while a large WAL is checkpointed, which shortens it', async () => {
  const { folder, file, plants } = await opened();
  writeBeside(folder, 60);
  expect(file.walSize()).toBeGreaterThan(50_000_000);
  let served = 0;
  for (; file.walSize() > 50_000_000; served++) await plants.add(plant(BigInt(100 + served)));
  // The first one is what has the size looked at.
  expect(served).toBeGreaterThan(5);
  // Where the thread had no time to shorten it beside a write, a later commit does.
  await eventually(async () => {
    await plants.add(plant(BigInt(100 + served++)));
    return (await stat(join(folder, 'plants.db-wal'))).size < 20_000_000;
  });
});
