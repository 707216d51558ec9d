import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeCursor } from '../../../../src/adapters/postgres/changes/change-cursor.ts';
import { readiness } from '../../../../src/adapters/postgres/readiness.ts';
import type { NewPlant } from '../../../../src/domain/plant.ts';
import { execute } from '../../../../tooling/execute.ts';
import type { PostgresServer } from '../../../../tooling/postgres-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { atEnd } from '../../../support/lifetimes.ts';
import { changesOf, consumer, pagesOf, readPage, readToEnd, sorted } from '../../../support/plants/changes.ts';
import { migratedPostgres, ownPostgres, promote, shutDown } from '../../../support/servers/own-postgres.ts';
import {
  isSynchronous,
  type SynchronousPair,
  startSynchronousPair,
} from '../../../support/servers/synchronous-pair.ts';
import { connect, plantsIn, storedPlants, storedPlantsAt } from '../../../support/test-database.ts';
import { living, startReceiver } from '../../../support/webhooks/webhook-receiver.ts';
import { announced, create, rename, rewind } from '../../../support/webhooks/webhook-service.ts';

/*
 * Positions in the feed after another server has taken over, or after a restore to a point in time: both begin a new
 * timeline with what they have of the old one.
 */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });
const expired = { code: 'cursor_expired' };

/** The plants of a server, as an instance of the service has them. */
function instanceOn(url: string, timeout = 20_000) {
  const database = connect(url);
  const plants = plantsIn(database, { timeout });
  return {
    database,
    plants,
    add: (...ids: readonly bigint[]) => Promise.all(ids.map((id) => plants.add(plant(id)))),
    read: async (after?: string, limit = 10) => {
      const { changes, next } = await readPage(plants, after, limit);
      return { changes: changesOf(changes), next };
    },
    rest: async (after: string) => (await readToEnd(plants, after)).changes,
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

/** The same with one standby, which is promoted at once. */
async function promotedCopyOf(server: PostgresServer): Promise<PostgresServer> {
  const [standby] = await standbysOf(server);
  await promote(standby);
  return standby;
}

/** Waits until what a position has seen is recorded. */
async function isRecorded(server: PostgresServer, position: string): Promise<void> {
  const { seen } = decodeCursor(position);
  const RECORDED = 'select max(value::bigint) as last from change_feed, jsonb_each_text(recorded)';
  await eventually(async () => BigInt((await execute(server.url, RECORDED))[0]?.last ?? 0) >= seen);
}

test('those up to the last record go on, later ones are refused for ever', async () => {
  const server = await migratedPostgres();
  const { add, read } = instanceOn(server.url);
  await add(1n, 2n, 3n, 4n, 5n);
  const middle = await read(undefined, 2);
  const end = await read(middle.next);
  await isRecorded(server, end.next);
  const [standby] = await standbysOf(server);
  await add(6n);
  const lost = await read(end.next);
  expect(lost.changes).toEqual([plant(6n)]);

  await promote(standby);
  const now = instanceOn(standby.url);
  expect(await now.rest(middle.next)).toEqual(end.changes);
  expect(await now.rest(end.next)).toEqual([]);
  await expect(now.read(lost.next)).rejects.toMatchObject(expired);
  // At once, however long it would wait.
  await expect(readPage(now.plants, lost.next, 10, 30_000)).rejects.toMatchObject(expired);

  const waiting = readPage(now.plants, end.next, 10, 30_000);
  await now.add(7n);
  expect(changesOf((await waiting).changes)).toEqual([plant(7n)]);
  // Beyond the transactions of which the position knows.
  for (let id = 8n; id < 30n; id++) await now.add(id);
  await expect(now.read(lost.next)).rejects.toMatchObject(expired);
  expect(await now.rest(end.next)).toHaveLength(23);
  expect(await now.rest(middle.next)).toHaveLength(26);
});

test('one of a page that a lost change had taken a plant out of is refused, since the plant is back', async () => {
  const server = await migratedPostgres();
  const { plants, add, read } = instanceOn(server.url);
  for (const id of [1n, 2n, 3n, 4n]) await add(id);
  const first = await read(undefined, 1);
  const all = await read(first.next);
  await isRecorded(server, all.next);
  const [standby] = await standbysOf(server);
  await plants.replace(plant(2n, 'lost'));
  // Up to a place that is long recorded.
  const second = await read(first.next, 2);
  expect(second.changes).toEqual([plant(3n), plant(4n)]);

  await promote(standby);
  const now = instanceOn(standby.url);
  await expect(now.read(second.next)).rejects.toMatchObject(expired);
  expect(await now.rest(first.next)).toEqual([plant(2n), plant(3n), plant(4n)]);
});

test('those of several timelines go on in the newest, and none goes on in an older one', async () => {
  const servers = [await migratedPostgres()] as [PostgresServer];
  const positions: string[] = [];
  const lost: string[] = [];
  for (let timeline = 1n; timeline <= 4n; timeline++) {
    const server = servers.at(-1) as PostgresServer;
    const { add, read } = instanceOn(server.url);
    await add(10n * timeline);
    // The second one is never read.
    if (timeline !== 2n) {
      const { next } = await read(positions.at(-1));
      await isRecorded(server, next);
      positions.push(next);
    }
    servers.push(await promotedCopyOf(server));
    await add(10n * timeline + 1n);
    lost.push((await read(positions.at(-1))).next);
  }
  const newest = instanceOn((servers.at(-1) as PostgresServer).url);
  const ids = async (after: string) => (await newest.rest(after)).map(({ id }) => id);
  expect(await Promise.all(positions.map(ids))).toEqual([[20n, 30n, 40n], [40n], []]);
  for (const one of lost) await expect(newest.read(one)).rejects.toMatchObject(expired);

  const { next } = await newest.read(positions[0]);
  for (const { url } of servers.slice(0, -1)) {
    const older = instanceOn(url);
    for (let id = 100n; id < 140n; id++) await older.add(id);
    await expect(older.read(next)).rejects.toMatchObject(expired);
  }
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

test('a webhook goes on from its place of then, and has what lost changes had replaced once it is rewound', async () => {
  const server = await migratedPostgres();
  const receiver = await startReceiver();
  await announced(server.url, receiver, create(1n), create(2n));
  const [standby] = await standbysOf(server);
  const lost = await announced(server.url, receiver, rename(2n, 'lost'), create(3n));
  expect(lost).toEqual(new Set([2n, 3n]));
  await promote(standby);

  expect(await announced(standby.url, receiver, create(4n), create(5n))).toEqual(new Set([4n, 5n]));
  expect(receiver.copy.get(4n)?.epoch).not.toBe(receiver.copy.get(3n)?.epoch);
  const table = await storedPlantsAt(standby.url);
  expect(living(receiver, table)).toEqual([plant(1n), plant(2n, 'lost'), plant(4n), plant(5n)]);
  await rewind(standby.url, receiver);
  await announced(standby.url, receiver);
  expect(living(receiver, table)).toEqual(sorted(table));
});

test('a role that may not record goes on without: /ready says so, and its positions end with the timeline', async () => {
  const server = await migratedPostgres();
  await execute(server.url, 'create role service login');
  await execute(server.url, 'grant select, insert, update on plants to service');
  await execute(server.url, 'grant select on kysely_migration, change_feed to service');
  const asService = (url: string) => Object.assign(new URL(url), { username: 'service' }).href;
  const { database, add, read } = instanceOn(asService(server.url));
  expect(await readiness(database)()).toContain('lacks UPDATE (store, recorded) on change_feed');
  await add(1n);
  const { changes, next } = await read();
  expect(changes).toEqual([plant(1n)]);
  expect((await read(next)).changes).toEqual([]);
  expect(await execute(server.url, 'select recorded from change_feed')).toEqual([{ recorded: {} }]);

  const copy = await promotedCopyOf(server);
  await expect(instanceOn(asService(copy.url)).read(next)).rejects.toMatchObject(expired);
  await execute(server.url, 'grant update (store, recorded) on change_feed to service');
  expect(await readiness(database)()).toBeUndefined();
  expect((await read(next)).changes).toEqual([]);
  await eventually(
    async () => (await execute(server.url, `select from change_feed where recorded <> '{}'`)).length > 0,
  );
});

describe('with a synchronous standby', () => {
  let pair: SynchronousPair;
  beforeEach(async () => {
    pair = await startSynchronousPair();
  });

  test('all go on, whenever the primary dies, and nothing is missed', async () => {
    const instances = [instanceOn(pair.primary.url, 3_000), instanceOn(pair.primary.url, 3_000)] as const;
    const consumers = instances.map(({ plants }) => ({ one: consumer(), read: pagesOf(plants) }));
    let isOver = false;
    let pages = 0;
    const repeat = async (work: () => Promise<unknown>) => {
      // Whatever fails when the primary dies.
      while (!isOver) await work().catch(() => delay(10));
    };
    const writing = instances.map(({ plants }, n) => {
      let count = 0n;
      return repeat(async () => {
        const id = 1_000n * BigInt(n) + (++count % 200n);
        await plants.add(plant(id));
        if (count > 200n) await plants.replace(plant(id, `${count}`));
      });
    });
    const reading = consumers.map(({ one, read }) => repeat(() => one.step(read, 30).then(() => pages++)));
    try {
      await eventually(() => pages > 50);
      await shutDown(pair.primary, 'SIGKILL');
    } finally {
      isOver = true;
      await Promise.all([...writing, ...reading]);
    }
    await promote(pair.standby);

    const { database, plants, add } = instanceOn(pair.standby.url);
    await add(100_000n);
    for (const { one } of consumers) {
      while (!(await one.step(pagesOf(plants), 100)));
      expect(one.restarts()).toBe(0);
      expect(sorted(one.copy.values())).toEqual(sorted(await storedPlants(database)));
    }
  });

  test('a position at the end, where nothing was read, goes on as well', async () => {
    const { add, read } = instanceOn(pair.primary.url);
    await add(1n);
    await read();
    await add(2n);
    const { next } = await read('now');
    await shutDown(pair.primary, 'SIGKILL');
    await promote(pair.standby);
    const now = instanceOn(pair.standby.url);
    await now.add(3n);
    expect((await now.read(next)).changes).toEqual([plant(3n)]);
  });

  test('a page is not sent before the standby has its record', async () => {
    const { add, read } = instanceOn(pair.primary.url, 1_500);
    await add(1n);
    const { next } = await read();
    await shutDown(pair.standby);
    // What has seen nothing new needs no other record.
    expect((await read()).changes).toEqual([plant(1n)]);
    await execute(pair.primary.url, 'set synchronous_commit = local; select pg_current_xact_id()');
    await expect(read()).rejects.toMatchObject({ code: 'store_unavailable' });
    expect((await read(next)).changes).toEqual([]);
    pair.standby = await pair.standby.restart();
    await isSynchronous(pair.primary);
    expect((await read()).changes).toEqual([plant(1n)]);
  });
});
