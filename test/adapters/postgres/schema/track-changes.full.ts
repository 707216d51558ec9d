import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { migrateDown, migrateUp } from '../../../../src/adapters/postgres/schema/migrator.ts';
import { eventually } from '../../../support/eventually.ts';
import { connect, emptyDatabase, plantsIn, storedPlants } from '../../../support/test-database.ts';

/* Migrations 0003 and 0004, applied to a table that has plants and is in use. Its repairs are in change-feed.full.ts. */

const LATER = ['0003_track_changes', '0004_record_changes', '0005_webhooks'];

/** A database as it was before the migration, with so many plants. */
async function before(count: number) {
  const { url, query, drop } = await emptyDatabase();
  const database = connect(url, { statementTimeout: 0 });
  await migrateUp(database);
  for (const name of LATER.toReversed()) {
    expect(await migrateDown(database, { deletePlants: false })).toEqual([name]);
  }
  await query(`insert into plants select n, 'plant ' || n, 'tag' from generate_series(1, ${count}) as n`);
  return {
    url,
    query,
    database,
    async [Symbol.asyncDispose]() {
      await database.close();
      await drop();
    },
  };
}

test('does not rewrite the table, and gives all its plants one transaction', async () => {
  await using opened = await before(50_000);
  // Postgres gives a table a new file when it rewrites it.
  const file = () => opened.query(`select pg_relation_filenode('plants') as file`);
  const old = await file();
  expect(await migrateUp(opened.database)).toEqual(LATER);
  expect(await file()).toEqual(old);
  expect(
    await opened.query('select count(distinct changed)::int as transactions, count(deleted)::int from plants'),
  ).toEqual([{ transactions: 1, count: 0 }]);
});

test('lets others use the table while it waits for a transaction that has used it', async () => {
  await using opened = await before(10);
  const reader = new Client({ connectionString: opened.url });
  await reader.connect();
  await reader.query('begin; select from plants limit 1');
  let isDone = false;
  const migrating = migrateUp(opened.database).finally(() => {
    isDone = true;
  });
  const waiting = `select from pg_locks where relation = 'plants'::regclass and mode = 'AccessExclusiveLock' and not granted`;
  await eventually(async () => (await opened.query(waiting)).length > 0);
  // Longer than one attempt: each statement waits for the end of that one at most.
  const other = connect(opened.url);
  const plants = plantsIn(other);
  for (let id = 100n; id < 103n; id++) expect(await plants.add({ id, name: 'new' })).toEqual({ id, name: 'new' });
  expect(isDone).toBe(false);
  await other.close();
  await reader.query('commit');
  await reader.end();
  expect(await migrating).toEqual(LATER);
  expect(await storedPlants(opened.database)).toHaveLength(13);
});
