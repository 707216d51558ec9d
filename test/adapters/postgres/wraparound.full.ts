import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { execute } from '../../../tooling/execute.ts';
import { atEnd, forAllTests } from '../../support/lifetimes.ts';
import { startSynchronousPair } from '../../support/servers/own-postgres.ts';
import { connect, plantsIn, purgeOn } from '../../support/test-database.ts';

/*
 * Postgres before the wraparound of its transaction ids: it warns at each write, and in the end refuses to write. Here a
 * table of another database says that it has not been vacuumed for so many transactions.
 */

const pair = forAllTests(startSynchronousPair);

/** Makes the server believe that its oldest transaction is so many transactions ago. */
async function age(transactions: number): Promise<void> {
  const { url } = pair.primary;
  const other = new Client({ connectionString: Object.assign(new URL(url), { pathname: 'template1' }).href });
  await other.connect();
  atEnd(() => other.end());
  const oldest = `(pg_snapshot_xmin(pg_current_snapshot())::text::bigint - ${transactions} + 2 ^ 32)::bigint::text::xid`;
  await other.query('set allow_system_table_mods = on; create table if not exists held ()');
  await other.query(`update pg_class set relfrozenxid = ${oldest} where relname = 'held'`);
  await other.query(`update pg_database set datfrozenxid = ${oldest} where datname = 'template1'`);
  // Otherwise autovacuum would repair it at once. A stronger lock takes a transaction id, and so holds back the feed.
  await other.query('begin; lock table held in share mode');
  await execute(url, 'vacuum freeze');
}

test('goes on while Postgres warns at each write', async () => {
  await age(2_120_000_000);
  const database = connect(pair.primary.url);
  const plants = plantsIn(database, { timeout: 5_000 });
  const plant = { id: 1n, name: 'Monstera' };
  const changed = { id: 1n, name: 'Monstera deliciosa' };
  expect(await plants.add(plant)).toBe('created');
  expect(await plants.add(plant)).toEqual(plant);
  expect(await plants.replace(changed)).toEqual(changed);
  const range = { after: undefined, limit: 10, wait: 0, signal: AbortSignal.abort() };
  expect((await plants.readChanges(range)).changes).toHaveLength(1);
  expect(await plants.remove(1n)).toBe('deleted');
  const purge = purgeOn(database);
  expect(await Array.fromAsync(purge({ minAge: 0, id: 1n }, false))).toEqual([1]);
});

test('responds that the store is unavailable once Postgres takes no more transactions, and still reads', async () => {
  const database = connect(pair.primary.url);
  const plants = plantsIn(database, { timeout: 60 * 60_000 });
  const plant = { id: 2n, name: 'Ficus' };
  await plants.add(plant);
  await age(2_146_000_000);
  const refused = { code: 'store_unavailable', cause: { code: '54000' } };
  const others = [3n, 4n, 5n].map((id) => plants.add({ id, name: 'too late' }));
  for (const other of others) await expect(other).rejects.toMatchObject(refused);
  await expect(plants.remove(2n)).rejects.toMatchObject(refused);
  expect(await plants.find(2n)).toEqual(plant);
});
