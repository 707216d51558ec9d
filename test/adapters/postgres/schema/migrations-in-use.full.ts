import { expect, test } from '@jest/globals';
import { damagedMigrations, migrationStatus } from '../../../../src/adapters/postgres/schema/migration-status.ts';
import { migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { openTransaction } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { migrateTo, migrations, runMigrate } from '../../../support/migrations.ts';
import { connect, emptyDatabase, migratedDatabase, plantsIn, storedPlants } from '../../../support/test-database.ts';

/* Migrations of a table that has plants and is in use, from 1.0.0 on. What they repair in the feed is in change-feed.full.ts. */

/** The last migration of 1.0.0, and what comes after it. */
const RELEASED = '0005_webhooks';
const LATER = migrations.slice(migrations.indexOf(RELEASED) + 1);

/** The indexes that are being built in the database. */
const BUILDS = 'select pid from pg_stat_progress_create_index where datname = current_database()';

/** A database of 1.0.0. */
async function released() {
  const { url, query } = await emptyDatabase();
  const database = connect(url, { statementTimeout: 0 });
  await migrateTo(RELEASED, database);
  return { database, url, query };
}

/** A transaction that has written and is not committed, for which the building of an index waits. */
const openWriter = (url: string, id: number) =>
  openTransaction(url, `insert into plants values (${id}, 'not committed yet', 'open')`);

test('long texts and the index of tags may take longer than the limits of the role', async () => {
  const { url, query } = await released();
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
  expect(await migrating).toMatchObject({ code: 0 });
});

test('an index of tags that an interrupted migration has left invalid is built again', async () => {
  const { database, url, query } = await released();
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
  expect(await migrationStatus(database)).toMatchObject({ pending: LATER });

  expect(await migrateUp(database)).toEqual(LATER);
  expect(await indexes()).toEqual(Array(3).fill({ indisvalid: true }));
});

test.each([
  ['0002_index_tags', 'plants_by_tag'],
  ['0006_index_tags_by_text', 'plants_by_tag_text'],
])('npm run migrate reports an index of %s that is invalid, and repairs it', async (migration, index) => {
  const { url, query } = await migratedDatabase();
  const migrate = (...args: string[]) => runMigrate({ DATABASE_URL: url }, ...args);
  const status = (second: string) => ({
    code: 0,
    stdout: migrations.map((name) => `${name}: ${name === migration ? second : 'applied'}\n`).join(''),
  });
  await query(`update pg_index set indisvalid = false where indexrelid = '${index}'::regclass`);
  const problem = 'applied, but what it made is missing or incomplete: run npm run migrate';
  expect(await migrate('status')).toMatchObject(status(problem));
  expect(await migrate()).toMatchObject({ code: 0, stdout: `${migration}: applied\n` });
  expect(await migrate('status')).toMatchObject(status('applied'));
  expect(await migrate()).toMatchObject({ code: 0, stdout: 'nothing to do: all migrations are applied\n' });
});

test('the repair of the feed waits for a transaction, and others use the table', async () => {
  const { url, query } = await migratedDatabase();
  const database = connect(url, { statementTimeout: 0 });
  await query(
    "insert into plants (id, name, changed) select n, 'plant', 1000000000 + n from generate_series(1, 10) as n",
  );
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
