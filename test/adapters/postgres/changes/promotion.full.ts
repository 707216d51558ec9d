import { expect, test } from '@jest/globals';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { execute } from '../../../../tooling/execute.ts';
import type { PostgresServer } from '../../../../tooling/postgres-server.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { runMigrate } from '../../../support/migrations.ts';
import { allReads } from '../../../support/plants/all-reads.ts';
import { readPage } from '../../../support/plants/changes.ts';
import {
  migratedPostgres,
  ownPostgres,
  promote,
  shutDown,
  startSynchronousPair,
} from '../../../support/servers/own-postgres.ts';
import { connect, plantsIn, readinessOf } from '../../../support/test-database.ts';

/*
 * Positions in the feed after another server has taken over, after a restore to a point in time, which begins a new
 * timeline as well, and after one that begins none. And what a standby gives, such as one that was the primary and to which
 * its address still leads: what it has may be old.
 */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });
const expired = { code: 'cursor_expired' };

/** The plants of a server, as an instance of the service has them. */
function instanceOn(url: string) {
  const plants = plantsIn(connect(url));
  return {
    plants,
    /** One after another: the feed has them in their order. */
    async add(...ids: readonly bigint[]) {
      for (const id of ids) await plants.add(plant(id));
    },
    read: async (after?: string, limit = 10) => {
      const { changes, next } = await readPage(plants, after, limit);
      return { changes, next };
    },
  };
}

/** Standbys that have all that the server has now, and get nothing more. The server is started again. */
async function standbysOf(server: PostgresServer, count = 1) {
  await shutDown(server);
  const start = () => ownPostgres([], { 'standby.signal': '' }, server.dataFolder);
  const standbys = [await start(), ...(await Promise.all(Array.from({ length: count - 1 }, start)))] as const;
  atEnd((await server.restart()).stop);
  return standbys;
}

test('all end with the timeline, and a new walk has what is there', async () => {
  const server = await migratedPostgres();
  const { plants, add, read } = instanceOn(server.url);
  await add(1n, 2n, 3n);
  const first = await read(undefined, 1);
  const [standby] = await standbysOf(server);
  await plants.replace(plant(2n, 'lost'));
  const lost = await read(first.next);

  await promote(standby);
  const now = instanceOn(standby.url);
  for (const { next } of [first, lost]) {
    await expect(now.read(next)).rejects.toMatchObject(expired);
    // At once, however long it would wait.
    await expect(readPage(now.plants, next, 10, 30_000)).rejects.toMatchObject(expired);
  }
  const { changes, next } = await now.read();
  expect(changes).toEqual([plant(1n), plant(2n), plant(3n)]);
  const waiting = readPage(now.plants, next, 10, 30_000);
  await now.add(4n);
  expect((await waiting).changes).toEqual([plant(4n)]);
  // Beyond the transactions of which the positions know.
  for (let id = 5n; id < 30n; id++) await now.add(id);
  await expect(now.read(lost.next)).rejects.toMatchObject(expired);
});

test('those of two servers that were promoted apart are not mistaken for each other', async () => {
  const server = await migratedPostgres();
  await instanceOn(server.url).read();
  const both = await standbysOf(server, 2);
  const positions = await Promise.all(
    both.map(async (standby, index) => {
      await promote(standby);
      const { add, read } = instanceOn(standby.url);
      for (let id = 1n; id <= 5n; id++) await add(10n * BigInt(index) + id);
      return (await read()).next;
    }),
  );
  const TIMELINE = 'select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as number';
  const [one, other] = await Promise.all(both.map(({ url }) => execute(url, TIMELINE)));
  expect(one).toEqual(other);
  for (const [index, { url }] of both.entries()) {
    const { read } = instanceOn(url);
    expect((await read(positions[index])).changes).toEqual([]);
    await expect(read(positions[1 - index])).rejects.toMatchObject(expired);
  }
});

test('a role that may not give the timeline an identity gets no changes until it may', async () => {
  const server = await migratedPostgres();
  await execute(server.url, 'create role service login');
  await execute(server.url, 'grant select, insert, update on plants to service');
  await execute(server.url, 'grant select on kysely_migration, change_feed to service');
  const { add, read } = instanceOn(Object.assign(new URL(server.url), { username: 'service' }).href);
  await add(1n);
  const message = expect.stringContaining('GRANT UPDATE (store, recorded)');
  await expect(read()).rejects.toMatchObject({ code: 'store_unavailable', cause: { code: '42501', message } });
  await execute(server.url, 'grant update (store, recorded) on change_feed to service');
  expect((await read()).changes).toEqual([plant(1n)]);
});

test('renew-feed ends those of a server whose files were set back', async () => {
  const server = await migratedPostgres();
  await instanceOn(server.url).read();
  await shutDown(server);
  const setBack = await ownPostgres(['fsync=off'], {}, server.dataFolder);
  atEnd((await server.restart()).stop);
  const lost = instanceOn(server.url);
  for (const id of [1n, 2n, 3n]) await lost.add(id);
  const { next } = await lost.read();

  const { read, add } = instanceOn(setBack.url);
  for (let id = 10n; id < 20n; id++) await add(id);
  expect((await read(next)).changes.length).toBeLessThan(10);
  const stdout = 'the feed of changes has a new identity: its consumers start again\n';
  expect(await runMigrate({ DATABASE_URL: setBack.url }, 'renew-feed')).toMatchObject({ code: 0, stdout });
  await expect(read(next)).rejects.toMatchObject(expired);
  const walk = await read();
  expect(walk.changes).toHaveLength(10);
  expect((await read(walk.next)).changes).toEqual([]);
});

test('pages go on while the synchronous standby is away', async () => {
  const { primary, standby } = await startSynchronousPair();
  const { add, read } = instanceOn(primary.url);
  await add(1n);
  const { next } = await read();
  await shutDown(standby);
  await execute(primary.url, 'set synchronous_commit = local; select pg_current_xact_id()');
  expect((await read()).changes).toEqual([plant(1n)]);
  expect((await read(next)).changes).toEqual([]);
});

test('a standby is not ready, nor is a read-only primary, and nothing is read there', async () => {
  const server = await migratedPostgres();
  await plantsIn(connect(server.url)).add({ ...plant(1n), tag: 'green' });
  const [standby] = await standbysOf(server);
  const database = connect(standby.url);
  await expect(readinessOf(database)).rejects.toThrow(
    /: the server is read-only: point the database's URL at the primary\./,
  );
  const store = plantsIn(database, { timeout: 1_000 });
  for (const [what, read] of allReads) {
    const error = await read(store).catch(({ code }) => code);
    expect([what, error]).toEqual([what, 'store_unavailable']);
  }
});
