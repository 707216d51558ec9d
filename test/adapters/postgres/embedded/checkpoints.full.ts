import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { type Kysely, sql } from 'kysely';
import type { Tables } from '../../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../../src/adapters/postgres/embedded/embedded-database.ts';
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
  const { sql: database, startCheckpoints, close } = await embeddedDatabase(await temporaryFolder());
  await sql`create table noted (text text storage external)`.execute(database);
  startCheckpoints();
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
