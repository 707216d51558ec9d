import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { damagedMigrations, migrationStatus } from '../../../../src/adapters/postgres/schema/migration-status.ts';
import { migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { openTransaction } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { laterThan, migrateTo, migrations, runMigrate } from '../../../support/migrations.ts';
import { readToEnd } from '../../../support/plants/changes.ts';
import { connect, emptyDatabase, migratedDatabase, plantsIn, storedPlants } from '../../../support/test-database.ts';

/*
 * Migrations of a table that has plants and is in use. 0002 builds an index while plants are written, and again if that
 * was interrupted; 0003 and 0004 add columns, whose repairs are in change-feed.full.ts.
 */

const FIRST = '0001_create_plants';
const SECOND = '0002_index_tags';
/** What a database with the first migration only gets. */
const LATER = laterThan(FIRST);

/** The indexes that are being built in the database. */
const BUILDS = 'select pid from pg_stat_progress_create_index where datname = current_database()';

/** A database with the migrations up to this one only. */
async function migratedTo(name: string) {
  const { url, query } = await emptyDatabase();
  const database = connect(url, { statementTimeout: 0 });
  await migrateTo(name, database);
  return { database, url, query };
}

/** Whether the index exists and Postgres uses it. */
async function isIntact({ sql: database }: Database): Promise<boolean> {
  const query = sql<{ indisvalid: boolean }>`
    select indisvalid from pg_index where indexrelid = to_regclass('plants_by_tag')`;
  return (await query.execute(database)).rows[0]?.indisvalid === true;
}

const many = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: BigInt(n), name: `plant ${n}`, tag: `tag ${n % 7}` }));

/** A transaction that has written and is not committed, for which the building of an index waits. */
const openWriter = (url: string, id: number) =>
  openTransaction(url, `insert into plants values (${id}, 'not committed yet', 'open')`);

test('the index of tags is built while plants are being written, and so is that of the feed: none fails or is left out', async () => {
  const { database, url, query } = await migratedTo(FIRST);
  const plants = plantsIn(database);
  const writer = await openWriter(url, 1_000_000);
  const all = many(300);
  await Promise.all(all.slice(0, 100).map((plant) => plants.add(plant)));
  const migrating = migrateUp(database);
  await eventually(async () => (await query(BUILDS)).length > 0);
  await Promise.all(all.slice(100, 200).map((plant) => plants.add(plant)));
  await writer.query('commit');
  // Then the third migration, whose index waits for this transaction.
  const hasColumns = `select from pg_attribute where attname = 'changed' and attrelid = 'plants'::regclass`;
  await eventually(async () => (await query(hasColumns)).length > 0);
  const secondWriter = await openWriter(url, 1_000_001);
  await Promise.all(all.slice(200).map((plant) => plants.add(plant)));
  await secondWriter.query('commit');
  expect(await migrating).toEqual(LATER);
  expect(await isIntact(database)).toBe(true);
  // A transaction that other tests leave open holds back the feed.
  await eventually(async () => (await readToEnd(plants)).changes.length === 302);
  const range = { from: 0n, to: 2_000_000n };
  const counts = await Promise.all(
    ['tag 0', 'tag 6', 'open'].map(async (tag) => (await plants.list({ ...range, tag }, 1_000)).plants.length),
  );
  expect(counts).toEqual([43, 42, 2]);
});

test('the search for long texts and the index of tags take longer than the limits of the role', async () => {
  const { url, query } = await migratedTo(FIRST);
  const writer = await openWriter(url, 1);
  await writer.query('savepoint unlocked; lock table plants');
  const role = `alter role postgres in database ${new URL(url).pathname.slice(1)}`;
  // Before Postgres 17, there is no limit of transactions.
  const limits = await query("select name from pg_settings where name ~ '^(statement|lock|transaction)_timeout$'");
  for (const { name } of limits) await query(`${role} set ${name} = '300ms'`);
  const migrating = runMigrate({ DATABASE_URL: url });
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and now() - query_start > '1 s' and query like `;
  await eventually(async () => (await query(`${waiting} '%octet_length%'`)).length > 0);
  await writer.query('rollback to unlocked');
  await eventually(async () => (await query(`${waiting} '%create index%'`)).length > 0);
  await writer.query('commit');
  expect(await migrating).toMatchObject({ code: 0, stderr: '' });
});

test.each([FIRST, '0005_webhooks'])(
  'an index of tags that an interrupted migration after %s has left invalid is built again',
  async (before) => {
    const { database, url, query } = await migratedTo(before);
    const writer = await openWriter(url, 1);
    const interrupted = expect(migrateUp(database)).rejects.toThrow(/terminat/);
    // Before that, the index is not in the catalogue yet.
    const waiting = `${BUILDS} and phase = 'waiting for writers before build'`;
    await eventually(async () => (await query(waiting)).length > 0);
    await query(`select pg_terminate_backend(pid) from (${BUILDS}) as build`);
    await interrupted;
    await writer.query('commit');
    const indexes = () =>
      query(`select indisvalid from pg_index where indrelid = 'plants'::regclass and not indisprimary`);
    expect(await indexes()).toContainEqual({ indisvalid: false });
    expect(await migrationStatus(database)).toMatchObject({ pending: laterThan(before) });

    expect(await migrateUp(database)).toEqual(laterThan(before));
    expect(await indexes()).toEqual(Array(3).fill({ indisvalid: true }));
  },
);

test.each([
  [SECOND, 'plants_by_tag'],
  ['0006_index_tags_by_text', 'plants_by_tag_text'],
])('npm run migrate reports an index of %s that is invalid, and repairs it', async (migration, index) => {
  const { url, query } = await migratedDatabase();
  const migrate = (...args: string[]) => runMigrate({ DATABASE_URL: url }, ...args);
  const status = (second: string) => ({
    code: 0,
    stdout: migrations.map((name) => `${name}: ${name === migration ? second : 'applied'}\n`).join(''),
    stderr: '',
  });
  await query(`update pg_index set indisvalid = false where indexrelid = '${index}'::regclass`);
  const problem = 'applied, but what it made is missing or incomplete: run npm run migrate';
  expect(await migrate('status')).toEqual(status(problem));
  expect(await migrate()).toMatchObject({ code: 0, stdout: `${migration}: applied\n` });
  expect(await migrate('status')).toEqual(status('applied'));
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'nothing to do\n' });
});

/** A database as it was before the feed of changes, with so many plants. */
async function populated(count: number) {
  const before = await migratedTo(SECOND);
  await before.query(`insert into plants select n, 'plant ' || n, 'tag' from generate_series(1, ${count}) as n`);
  return before;
}

test('the feed of changes does not rewrite the table, and gives all its plants one transaction', async () => {
  const { database, query } = await populated(50_000);
  // Postgres gives a table a new file when it rewrites it.
  const file = () => query(`select pg_relation_filenode('plants') as file`);
  const old = await file();
  expect(await migrateUp(database)).toEqual(laterThan(SECOND));
  expect(await file()).toEqual(old);
  const counts = 'select count(distinct changed)::int as transactions, count(deleted)::int from plants';
  expect(await query(counts)).toEqual([{ transactions: 1, count: 0 }]);
});

test.each([
  ['the feed of changes', async () => {}],
  [
    'its repair after a restore',
    async ({ database, query }: Awaited<ReturnType<typeof populated>>) => {
      await migrateUp(database);
      await query('update plants set changed = changed + 1000000000');
    },
  ],
])('%s lets others use the table while it waits for a transaction that has used it', async (_migration, prepare) => {
  const opened = await populated(10);
  const { database, url, query } = opened;
  await prepare(opened);
  const reader = await openTransaction(url, 'select from plants limit 1');
  let isDone = false;
  const migrating = migrateUp(database).finally(() => {
    isDone = true;
  });
  const waiting = `select from pg_locks where relation = 'plants'::regclass and mode = 'AccessExclusiveLock' and not granted`;
  await eventually(async () => (await query(waiting)).length > 0);
  // Longer than one attempt: each statement waits for the end of that one at most.
  const plants = plantsIn(connect(url));
  for (let id = 100n; id < 103n; id++) expect(await plants.add({ id, name: 'new' })).toBe('created');
  expect(isDone).toBe(false);
  await reader.query('commit');
  await migrating;
  expect(await damagedMigrations(database)).toEqual([]);
  expect(await storedPlants(database)).toHaveLength(13);
});
