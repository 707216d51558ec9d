import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, jest, test } from '@jest/globals';
import { get, post, TOKEN } from '../../support/api-server.ts';
import { atEnd } from '../../support/lifetimes.ts';
import {
  projectFile,
  type Service,
  startMain,
  startNode,
  startService,
  temporaryFolder,
} from '../../support/service-process.ts';

/* The embedded database on a disk that fills up, and on one that cannot be written. Only root can mount them. */

jest.setTimeout(600_000);

const run = promisify(execFile);

/** A disk of so many mebibytes until the end of the test. */
async function smallDisk(mebibytes: number) {
  const disk = await temporaryFolder();
  await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', disk]);
  atEnd(() => run('umount', ['--lazy', disk]));
  const environment = { DATA_DIR: disk, ACCESS_TOKENS: TOKEN };
  return {
    disk,
    start: () => startService('/', environment),
    async refused() {
      const service = startMain('/', environment);
      expect(await service.exited).toEqual({ code: 1, signal: null });
      return service.stderr();
    },
    remount: (option: string) => run('mount', ['-o', `remount,${option}`, disk]),
  };
}

const create = async ({ apiUrl }: Service, plant: object) => (await post(apiUrl, JSON.stringify(plant))).status;

async function kill(service: Service): Promise<void> {
  service.kill('SIGKILL');
  await service.exited;
}

const noSpace = (disk: string) =>
  `Plant Store cannot start.\nthe database in ${disk}/postgres cannot be opened: no space is left on the disk: ` +
  'make room for 32 MiB or more and try again; leave the folder as it is\n';

const noRoomForLog =
  /Plant Store cannot continue: Postgres has given up in .*\/postgres \(could not write to file "pg_wal\/xlogtemp\.\d+": No space left on device\)\. Nothing that was acknowledged is lost\.\n$/;

test('a full disk is told, loses nothing, and is served from again once there is room', async () => {
  const { disk, start, refused, remount } = await smallDisk(20);
  const creating = `Creating the embedded database in ${disk}, which takes some seconds ...\n`;
  expect(await refused()).toBe(creating + noSpace(disk));
  await remount('size=70m');
  const service = await start();
  const stored: { id: number; name: string }[] = [];
  for (;;) {
    const plant = { id: stored.length, name: randomBytes(200_000).toString('hex') };
    const answer = await post(service.apiUrl, JSON.stringify(plant));
    if (answer.status !== 200) {
      expect([answer.status, await answer.json()]).toMatchObject([503, { error: 50300 }]);
      break;
    }
    stored.push(plant);
  }
  expect(stored.length).toBeGreaterThan(5);
  expect((await fetch(`${service.managementUrl}/live`)).status).toBe(200);

  await remount('size=200m');
  expect(await create(service, { id: stored.length, name: 'now' })).toBe(200);
  await kill(service);

  const again = await start();
  for (const { id, name } of stored) {
    expect(await create(again, { id, name })).toBe(200);
    expect(await create(again, { id, name: 'another' })).toBe(400);
  }
  await kill(again);

  await remount('ro');
  expect(await refused()).toBe(
    `Plant Store cannot start.\n${disk} is not a writable folder (EROFS): ` +
      'fix that, or set DATA_DIR to another one\n',
  );
});

test('a database that needs room for its recovery is not called damaged, and is whole once there is room', async () => {
  const { disk, start, refused, remount } = await smallDisk(100);
  const service = await start();
  expect(await create(service, { id: 1, name: 'Monstera deliciosa' })).toBe(200);
  await kill(service);

  // Too little for the next file of Postgres's log, of 16 MiB.
  const { blocks, bfree, bsize } = await statfs(disk);
  await remount(`size=${(blocks - bfree) * bsize + 8 * 1024 ** 2}`);
  // Ends where Postgres needs that file, and so does the recovery.
  const script = `
      const [{ embeddedDatabase }, { sql }] = await Promise.all([import(process.argv[1]), import('kysely')]);
      const database = await embeddedDatabase(process.argv[2]);
      const message = sql\`select pg_logical_emit_message(false, '', repeat('x', 500000))\`;
      for (;;) await message.execute(database.sql);`;
  const program = projectFile('src/adapters/postgres/embedded/embedded-database.ts');
  const writer = startNode(['--input-type=module', '--eval', script, program, disk], projectFile(''));
  expect(await writer.exited).toEqual({ code: 1, signal: null });
  expect(writer.stderr()).toMatch(noRoomForLog);

  expect(await refused()).toBe(noSpace(disk));
  for (const command of [['migrate.ts'], ['purge.ts', '--id', '1']]) {
    const [file = '', ...args] = command;
    const other = startNode([projectFile(`src/${file}`), ...args], '/', { DATA_DIR: disk });
    expect(await other.exited).toEqual({ code: 1, signal: null });
    expect(`Plant Store cannot start.\n${other.stderr()}`).toBe(noSpace(disk));
  }
  await remount('size=200m');
  const again = await start();
  expect(await create(again, { id: 1, name: 'another' })).toBe(400);
});

test('a service starts and reads on a disk with too little room to vacuum what has changed before', async () => {
  const { disk, start, remount } = await smallDisk(1_000);
  await kill(await start());
  const script = `
      const [{ embeddedDatabase }, { sql }] = await Promise.all([import(process.argv[1]), import('kysely')]);
      const database = await embeddedDatabase(process.argv[2]);
      await sql\`insert into plants (id, name) select n, repeat('plant', 10) from generate_series(1, 300000) n\`
        .execute(database.sql);
      await sql\`update plants set name = 'changed', changed = default\`.execute(database.sql);
      await sql\`checkpoint\`.execute(database.sql);
      const { rows } = await sql\`select pg_walfile_name(pg_current_wal_lsn()) as name\`.execute(database.sql);
      await database.close();
      console.log(rows[0].name);`;
  const program = projectFile('src/adapters/postgres/embedded/embedded-database.ts');
  const writer = await startNode(['--input-type=module', '--eval', script, program, disk], projectFile('')).outcome();
  expect(writer.code).toBe(0);
  // Those that Postgres keeps to write them again would be room enough.
  const log = join(disk, 'postgres/pg_wal');
  const unused = (await readdir(log)).filter((name) => /^[\dA-F]{24}$/.test(name) && name > writer.stdout.trim());
  for (const name of unused) await rm(join(log, name));

  const { blocks, bfree, bsize } = await statfs(disk);
  await remount(`size=${(blocks - bfree) * bsize + 48 * 1024 ** 2}`);
  const service = await start();
  expect((await get(service.apiUrl, '/plants/77', { Connection: 'close' })).status).toBe(200);
  expect(service.stderr()).toContain('the table plants was not vacuumed (the disk has too little room)');
  await kill(service);
});

test('a disk without room for the next file of the log ends the service, which says why, and is whole once there is room', async () => {
  const { disk, start, remount } = await smallDisk(150);
  const service = await start();
  // Most of the first file of the log, of 16 MiB; there is no room for the next one then.
  for (let id = 100; id < 130; id++) {
    await post(service.apiUrl, JSON.stringify({ id, name: randomBytes(200_000).toString('hex') }));
  }
  const { blocks, bfree, bsize } = await statfs(disk);
  await remount(`size=${(blocks - bfree) * bsize + 6 * 1024 ** 2}`);
  // Changes of a few plants need room in the log only.
  const acknowledged: string[] = [];
  const put = async (id: number, n: number) => {
    const name = `${n} ${randomBytes(900).toString('hex')}`;
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name });
    const { status } = await fetch(`${service.apiUrl}/plants/${id}`, { method: 'PUT', headers, body });
    if (status === 200) acknowledged[id] = name;
  };
  const client = async (id: number) => {
    expect(await create(service, { id, name: 'new' })).toBe(200);
    for (let n = 0; ; n++) await put(id, n);
  };
  await Promise.allSettled(Array.from({ length: 16 }, (_, id) => client(id)));
  expect(await service.exited).toEqual({ code: 1, signal: null });
  expect(service.stderr()).toMatch(noRoomForLog);
  expect(acknowledged).toHaveLength(16);

  await remount('size=200m');
  const again = await start();
  for (const [id, name] of acknowledged.entries()) {
    const { name: stored } = (await (await get(again.apiUrl, `/plants/${id}`)).json()) as { name: string };
    // The change that was under way may have been done.
    const next = Number.parseInt(name, 10) + 1;
    expect(stored === name || stored.startsWith(`${next} `)).toBe(true);
  }
});

test('on SQLite a full disk and one that becomes read-only are said, end nothing, and are served from again', async () => {
  const { disk, start, remount } = await smallDisk(20);
  await writeFile(join(disk, 'plants.db'), '');
  const service = await start();
  const ready = async () => (await fetch(`${service.managementUrl}/ready`)).text();
  const stored: number[] = [];
  const fill = async (id: number) => create(service, { id, name: `${id}`.repeat(100_000) });
  while ((await fill(stored.length)) === 200) stored.push(stored.length);
  expect(stored.length).toBeGreaterThan(20);
  expect(await fill(stored.length)).toBe(503);
  expect(await ready()).toContain('the disk of the database is full, or its quota is used up');
  expect((await get(service.apiUrl, '/plants/7')).status).toBe(200);
  await remount('size=100m');
  expect(await fill(stored.length)).toBe(200);

  await run('mount', ['-o', 'remount,ro', disk]).catch(() => {});
  await kill(service);
  const again = await start();
  for (const id of [...stored, stored.length]) expect(await create(again, { id, name: 'another' })).toBe(400);
  await kill(again);
});
