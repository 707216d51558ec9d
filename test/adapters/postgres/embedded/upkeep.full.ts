import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../../src/adapters/postgres/embedded/embedded-database.ts';
import { migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { embeddedFolder } from '../../../support/embedded-template.ts';
import { temporaryFolder } from '../../../support/service-process.ts';

const write = (database: Kysely<Tables>, mebibytes: number) =>
  sql`insert into noted select repeat(md5(n::text), 4096) from generate_series(1, ${8 * mebibytes}::int) n`.execute(
    database,
  );

async function log(database: Kysely<Tables>) {
  const { rows } = await sql<{ name: string; redo: string }>`
    select name, redo_lsn::text as redo from pg_ls_waldir(), pg_control_checkpoint()`.execute(database);
  return rows;
}

test('the embedded database makes checkpoints by itself, and uses the files of its log again', async () => {
  const { sql: database, startUpkeep, close } = await embeddedDatabase(await temporaryFolder());
  await sql`create table noted (text text storage external)`.execute(database);
  await startUpkeep();
  const checkpoints = new Set<string>();
  const files = new Set<string>();
  let most = 0;
  for (let round = 0; round < 24; round++) {
    await write(database, 16);
    await delay(200);
    const rows = await log(database);
    for (const { name, redo } of rows) {
      files.add(name);
      checkpoints.add(redo);
    }
    most = Math.max(most, rows.length);
  }
  await close();
  expect(checkpoints.size).toBeGreaterThan(2);
  // 64 MiB until a checkpoint, twice that while it lasts, and what was written within a second of it.
  expect(most).toBeLessThan(20);
  expect(files.size).toBeGreaterThan(24);
});

test('is vacuumed at each start, so that its index leads past no earlier versions', async () => {
  const folder = await embeddedFolder();
  const open = async () => {
    const database = await embeddedDatabase(folder);
    await migrateUp(database);
    await database.startUpkeep();
    return database;
  };
  const before = await open();
  await sql`insert into plants (id, name) select n, 'plant' from generate_series(1, 20000) as n`.execute(before.sql);
  for (const name of ['first', 'second']) {
    await sql`update plants set name = ${name}, changed = default`.execute(before.sql);
  }
  await before.close();

  const after = await open();
  const { rows } = await sql<Record<string, string>>`explain (analyze, buffers, timing off)
    select id from plants order by changed, id limit 1000`.execute(after.sql);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  const pages = Array.from(/shared hit=(\d+)(?: read=(\d+))?/.exec(plan) ?? []).slice(1);
  // Of 60,000 versions on some 500 pages, 1,000 rows are on a few.
  expect(pages.reduce((sum, count = '0') => sum + Number(count), 0)).toBeLessThan(60);
  await after.close();
});

test('makes none before it is told to, as during migrations, of whose transactions it would be a part', async () => {
  const { sql: database, close } = await embeddedDatabase(await temporaryFolder());
  await sql`create table noted (text text storage external)`.execute(database);
  const redos = async () => new Set((await log(database)).map(({ redo }) => redo));
  const before = await redos();
  await write(database, 80);
  // The interval of its checks is a second.
  await delay(1_500);
  expect(await redos()).toEqual(before);
  await close();
});
