import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { Client } from 'pg';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../../../src/adapters/postgres/embedded/embedded-database.ts';
import {
  damagedMigrations,
  migrateDown,
  migrateUp,
  migrationStatus,
} from '../../../../src/adapters/postgres/schema/migrator.ts';
import { requireMigrations } from '../../../../src/adapters/postgres/schema/schema-gate.ts';
import { eventually } from '../../../support/eventually.ts';
import { contentOf } from '../../../support/plants/plant-lines.ts';
import { projectFile, startNode, temporaryFolder } from '../../../support/service-process.ts';
import { connect, emptyDatabase, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* Migration 0002: an index that is built while plants are written, and built again if that was interrupted. */

const FIRST = '0001_create_plants';
const SECOND = '0002_index_tags';
const THIRD = '0003_track_changes';
const FOURTH = '0004_record_changes';
const FIFTH = '0005_webhooks';
/** What a database with the first migration only gets. */
const LATER = [SECOND, THIRD, FOURTH, FIFTH];
const keep = { deletePlants: false };

/** The indexes that are being built in the database. */
const BUILDS = 'select pid from pg_stat_progress_create_index where datname = current_database()';

async function onPostgres() {
  const { url, query, drop } = await emptyDatabase();
  const database = connect(url, { statementTimeout: 0 });
  return disposable({ database, url, query }, async () => {
    await database.close();
    await drop();
  });
}

async function onEmbedded() {
  const database = await embeddedDatabase(await temporaryFolder());
  return disposable({ database }, database.close);
}

function disposable<Value extends object>(value: Value, undo: () => Promise<void>) {
  return Object.assign(value, { [Symbol.asyncDispose]: undo });
}

/** Applies the first migration only. */
async function migrateToFirst(database: Database): Promise<void> {
  await migrateUp(database);
  await revertTag(database);
}

/** Reverts the second migration, and the later ones before it. */
async function revertTag(database: Database): Promise<void> {
  for (const name of LATER.toReversed()) expect(await migrateDown(database, keep)).toEqual([name]);
}

/** Whether the index exists and Postgres uses it. */
async function isIntact({ sql: database }: Database): Promise<boolean> {
  const query = sql<{ indisvalid: boolean }>`
    select indisvalid from pg_index where indexrelid = to_regclass('plants_by_tag')`;
  return (await query.execute(database)).rows[0]?.indisvalid === true;
}

/** Runs `node src/migrate.ts` to its end. */
async function migrate(environment: Record<string, string>, ...args: string[]) {
  const process = startNode([projectFile('src/migrate.ts'), ...args], await temporaryFolder(), environment);
  const { code } = await process.exited;
  return [code, process.stdout(), process.stderr()];
}

const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => ({ id: BigInt(from + n), name: `plant ${n}`, tag: `tag ${n % 7}` }));

/** A transaction that has written and is not committed, for which the building of an index waits. */
async function openWriter(url: string, id: number) {
  const client = new Client({ connectionString: url }).on('error', () => {});
  await client.connect();
  await client.query(`begin; insert into plants values (${id}, 'not committed yet', 'open')`);
  return client;
}

describe.each([
  ['Postgres', onPostgres],
  ['the embedded database', onEmbedded],
])('on %s', (_name, open) => {
  test('is added to a table that has plants, and finds them by their tags', async () => {
    await using opened = await open();
    const { database } = opened;
    await migrateToFirst(database);
    const plants = plantsIn(database);
    const all = many(200);
    await Promise.all(all.map((plant) => plants.add(plant)));
    expect(await migrateUp(database)).toEqual(LATER);
    expect(await isIntact(database)).toBe(true);
    const range = { from: 0n, to: 999n, tag: 'tag 3' };
    expect(contentOf(await plants.readBatch(range, 100)).plants).toEqual(all.filter(({ tag }) => tag === 'tag 3'));
  });

  test('takes tags that are longer than an entry of an index may be', async () => {
    await using opened = await open();
    const { database } = opened;
    await migrateToFirst(database);
    const plants = plantsIn(database);
    // Of random letters, since Postgres compresses before it compares the length.
    const tag = Array.from({ length: 100_000 }, () => String.fromCharCode(33 + Math.random() * 90)).join('');
    const [before, after] = [
      { id: 1n, name: 'before', tag },
      { id: 2n, name: 'after', tag },
    ];
    await plants.add(before);
    expect(await migrateUp(database)).toEqual(LATER);
    expect(await plants.add(after)).toEqual(after);
    const range = { from: 0n, to: 9n, tag };
    expect(contentOf(await plants.readBatch(range, 9))).toEqual({ plants: [before, after], isLast: true });
    expect(contentOf(await plants.readBatch({ ...range, tag: `${tag}x` }, 9)).plants).toEqual([]);
  });

  test('that is missing counts as damaged, leaves the service ready, and is built by the next migration', async () => {
    await using opened = await open();
    const { database } = opened;
    await migrateUp(database);
    expect(await damagedMigrations(database)).toEqual([]);
    await database.sql.schema.dropIndex('plants_by_tag').execute();
    expect(await damagedMigrations(database)).toEqual([SECOND]);
    expect(await requireMigrations(database)).toMatchObject({ pending: [] });
    expect(await migrateUp(database)).toEqual([SECOND]);
    expect(await isIntact(database)).toBe(true);
    expect(await migrateUp(database)).toEqual([]);
  });
});

test('is built while plants are being written, and so is that of the feed: none fails or is left out', async () => {
  await using opened = await onPostgres();
  const { database, url } = opened;
  await migrateToFirst(database);
  const plants = plantsIn(database);
  const writer = await openWriter(url, 1_000_000);
  const all = many(300);
  await Promise.all(all.slice(0, 100).map((plant) => plants.add(plant)));
  const migrating = migrateUp(database);
  await eventually(async () => (await opened.query(BUILDS)).length > 0);
  await Promise.all(all.slice(100, 200).map((plant) => plants.add(plant)));
  await writer.query('commit');
  await writer.end();
  // Then the third migration, whose index waits for this transaction.
  const hasColumns = `select from pg_attribute where attname = 'changed' and attrelid = 'plants'::regclass`;
  await eventually(async () => (await opened.query(hasColumns)).length > 0);
  const secondWriter = await openWriter(url, 1_000_001);
  await Promise.all(all.slice(200).map((plant) => plants.add(plant)));
  await secondWriter.query('commit');
  await secondWriter.end();
  expect(await migrating).toEqual(LATER);
  expect(await isIntact(database)).toBe(true);
  const { lines } = await plants.readChanges({ after: undefined, limit: 1_000, wait: 0, signal: AbortSignal.abort() });
  expect(lines.split('\n')).toHaveLength(302);
  const range = { from: 0n, to: 2_000_000n };
  const counts = await Promise.all(
    ['tag 0', 'tag 6', 'open'].map(async (tag) => (await plants.readBatch({ ...range, tag }, 1_000)).count),
  );
  expect(counts).toEqual([43, 42, 2]);
});

test('is built once by eight migrations at the same time, while a transaction stays open for a while', async () => {
  await using opened = await onPostgres();
  const { database, url } = opened;
  await migrateToFirst(database);
  const writer = await openWriter(url, 1);
  const all = Array.from({ length: 8 }, () => connect(url, { statementTimeout: 0, poolSize: 1 }));
  const migrating = Promise.all(all.map((each) => migrateUp(each)));
  await eventually(async () => (await opened.query(BUILDS)).length > 0);
  await writer.query('commit');
  await writer.end();
  const done = await migrating;
  await Promise.all(all.map((each) => each.close()));
  expect(done.flat()).toEqual(LATER);
  expect(await isIntact(database)).toBe(true);
});

test('is reverted after it was built, if both are asked for at the same time', async () => {
  await using opened = await onPostgres();
  const { database, url } = opened;
  await migrateToFirst(database);
  const writer = await openWriter(url, 1);
  const up = migrateUp(database);
  await eventually(async () => (await opened.query(BUILDS)).length > 0);
  const other = connect(url, { statementTimeout: 0 });
  const down = migrateDown(other, keep);
  const waiting = `select from pg_stat_activity where datname = current_database() and query like 'select pg_%advisory%'`;
  await eventually(async () => (await opened.query(waiting)).length > 0);
  await writer.query('commit');
  await writer.end();
  expect(await Promise.all([up, down])).toEqual([LATER, [FIFTH]]);
  await other.close();
  expect(await migrationStatus(database)).toMatchObject({ applied: [FIRST, SECOND, THIRD, FOURTH], pending: [FIFTH] });
});

test('that an interrupted migration has left invalid is built again', async () => {
  await using opened = await onPostgres();
  const { database, url } = opened;
  await migrateToFirst(database);
  const writer = await openWriter(url, 1);
  const interrupted = expect(migrateUp(database)).rejects.toThrow(/terminat/);
  await eventually(async () => (await opened.query(BUILDS)).length > 0);
  await opened.query(`select pg_terminate_backend(pid) from (${BUILDS}) as build`);
  await interrupted;
  await writer.query('commit');
  await writer.end();
  const indexes = () =>
    opened.query(`select indisvalid from pg_index where indrelid = 'plants'::regclass and not indisprimary`);
  expect(await indexes()).toEqual([{ indisvalid: false }]);
  expect(await migrationStatus(database)).toMatchObject({ pending: LATER });

  expect(await migrateUp(database)).toEqual(LATER);
  expect(await indexes()).toEqual([{ indisvalid: true }, { indisvalid: true }]);
});

describe('npm run migrate', () => {
  test('reports an index that is missing or invalid, and repairs it', async () => {
    const { url, query, drop } = await migratedDatabase();
    await using _server = disposable({}, drop);
    const damage = [
      'drop index plants_by_tag',
      `update pg_index set indisvalid = false where indexrelid = 'plants_by_tag'::regclass`,
    ];
    for (const statement of damage) {
      await query(statement);
      const problem = 'applied, but what it made is missing or incomplete: run npm run migrate';
      expect(await migrate({ DATABASE_URL: url }, 'status')).toEqual([
        0,
        `${FIRST}: applied\n${SECOND}: ${problem}\n${THIRD}: applied\n${FOURTH}: applied\n${FIFTH}: applied\n`,
        '',
      ]);
      expect(await migrate({ DATABASE_URL: url })).toEqual([0, `${SECOND}: applied\n`, '']);
      expect(await migrate({ DATABASE_URL: url }, 'status')).toEqual([
        0,
        `${FIRST}: applied\n${SECOND}: applied\n${THIRD}: applied\n${FOURTH}: applied\n${FIFTH}: applied\n`,
        '',
      ]);
    }
    expect(await migrate({ DATABASE_URL: url })).toEqual([0, 'nothing to do\n', '']);
  });
});
