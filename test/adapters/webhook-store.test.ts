import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { CompiledQuery } from 'kysely';
import type { Database } from '../../src/adapters/postgres/connections/pool.ts';
import { registerEndpoints } from '../../src/adapters/postgres/registration.ts';
import { migrateUp } from '../../src/adapters/postgres/schema/migrator.ts';
import type { Run } from '../../src/adapters/sql/run.ts';
import { endpointStates, webhookEndpoints } from '../../src/adapters/sql/webhooks/endpoint-states.ts';
import { enterEndpoints } from '../../src/adapters/sql/webhooks/endpoints.ts';
import { webhookPositions } from '../../src/adapters/sql/webhooks/positions.ts';
import { problemsIn } from '../../src/adapters/sqlite/readiness.ts';
import type { ChangeLog } from '../../src/application/changes/log.ts';
import type { Position } from '../../src/application/changes/ports.ts';
import { BACKLOG_ROWS_MAX } from '../../src/application/maintenance.ts';
import type { DeliveryFailure, KeepPositions, Lease, LeaseOutcome } from '../../src/application/webhooks/ports.ts';
import { MIN_INT64 } from '../../src/domain/plant.ts';
import { observed, openTransaction } from '../support/disturbances.ts';
import { embeddedPlants, openEmbedded } from '../support/embedded-store.ts';
import { eventually } from '../support/eventually.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';
import { connect, migratedDatabase, plantsIn, readinessOf, runnerOn } from '../support/test-database.ts';

/* The table webhooks and what is read for it, on both databases, and what only one on Postgres can show. */

const ENDPOINT = 'hooks.example 0123456789abcdef';
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const plant = (id: bigint, name = `plant ${id}`) => ({ id, name });
const START: Position = { changed: 0n, id: MIN_INT64 };

function setback(failing: Position, others: Partial<DeliveryFailure> = {}): DeliveryFailure {
  return { failing, reason: 'it responded with 500', failures: 1, retryIn: MINUTE, isParked: false, ...others };
}

const leasesIn = (outcomes: ReadonlyMap<string, LeaseOutcome>) =>
  [...outcomes.values()].filter((outcome) => typeof outcome === 'object');

/** The leases of an instance, the first endpoint being the only one, or the one that counts. */
const leases = (positions: KeepPositions) => ({
  ...positions,
  takeAll: positions.take,
  /** If it can be had. */
  take: async (milliseconds = MINUTE) => leasesIn(await positions.take([], milliseconds))[0],
  /** What becomes of a lease, in a word. */
  async renew(lease: Lease, milliseconds = MINUTE) {
    const outcome = (await positions.take([lease], milliseconds)).get(lease.endpoint);
    return typeof outcome === 'object' ? 'taken' : outcome;
  },
});

type Column = 'expires' | 'retry_at' | 'failing_since';

/** What an instance of the service has of either database. @param entered that every endpoint has its row, or had it */
const webhooksOn = (run: Run, names: readonly string[], entered?: () => Promise<void> | undefined) => ({
  ...leases(webhookPositions(run, names, entered)),
  endpoints: webhookEndpoints(run),
});

function webhooksIn(database: Database, names = [ENDPOINT]) {
  const { run } = runnerOn(database);
  const ensureRegistered = registerEndpoints(database, names);
  const query = async (text: string) =>
    (await database.sql.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text))).rows;
  return {
    plants: plantsIn(database),
    ...webhooksOn(run, names, ensureRegistered),
    add: () => run('writes', async () => ensureRegistered()),
    /** Of the service when it starts again, or of another instance. */
    another: async (others = names) => webhooksIn(database, others),
    ready: (endpoints = names) => readinessOf(database, endpoints),
    query,
    /** Moves a time of the clock of the database. */
    shift: (column: Column, milliseconds: number) =>
      query(`update webhooks set ${column} = ${column} + interval '${milliseconds} milliseconds'`),
  };
}

type Webhooks = ReturnType<typeof webhooksIn>;

function webhooksInFile(file: Awaited<ReturnType<typeof openEmbedded>>, names = [ENDPOINT]) {
  const query = async (text: string) => file.sql.prepare(text).all();
  const enter = (endpoints: readonly string[]) => file.run('writes', (session) => enterEndpoints(session, endpoints));
  return {
    plants: embeddedPlants(file),
    ...webhooksOn(file.run, names),
    add: () => enter(names),
    async another(others = names) {
      await enter(others);
      return webhooksInFile(file, others);
    },
    ready: (endpoints = names) =>
      problemsIn(file, endpoints).then((problems) => problems.find((text) => text !== undefined)),
    query,
    shift: (column: Column, milliseconds: number) =>
      query(`update webhooks set ${column} = ${column} + ${milliseconds}`),
  };
}

// Of its own: a transaction that other tests leave open would hold back the feed.
const server = forAllTests(() => ownPostgres());

async function onServer() {
  const { url, query } = await migratedDatabase(server.url);
  return { url, query, database: connect(url) };
}

/** On Postgres, which all tests share, since to make one for each would take long. */
const shared = forAllTests(async () => ({ database: connect((await migratedDatabase(server.url)).url) }));

async function onPostgres() {
  const store = webhooksIn(shared.database);
  await store.query('truncate plants, webhooks');
  return store;
}

async function taken(store: Pick<Webhooks, 'take'>, milliseconds = MINUTE): Promise<Lease> {
  const lease = await store.take(milliseconds);
  if (lease === undefined) throw new Error('the lease is not free');
  return lease;
}

const idsAfter = async ({ plants }: { plants: Pick<ChangeLog, 'readEntries'> }, position: Position) =>
  (await plants.readEntries(position)).entries.map(({ id }) => id);

describe.each<[string, () => Promise<Webhooks | ReturnType<typeof webhooksInFile>>]>([
  ['Postgres', onPostgres],
  ['the embedded database', async () => webhooksInFile(await openEmbedded())],
])('on %s', (_, open) => {
  let store: Awaited<ReturnType<typeof open>>;
  beforeEach(async () => {
    store = await open();
  });

  const state = async () => (await store.endpoints.states())[0];

  test('an endpoint whose row is gone is reported, and begins anew after a restart', async () => {
    await store.add();
    const lease = await taken(store);
    await store.query('delete from webhooks');
    expect(await store.takeAll([], MINUTE)).toEqual(new Map());
    expect(await store.renew(lease)).toBe('lost');
    expect(await store.ready()).toContain(`the webhook of ${ENDPOINT} gets nothing: `);
    expect(await state()).toBeUndefined();
    expect(await (await store.another()).take()).toBeDefined();
  });

  test('reads pages of 200 plants, each once, also of those that share a transaction', async () => {
    await Promise.all(Array.from({ length: 450 }, (_, n) => store.plants.add(plant(BigInt(n + 1)))));
    const [pages, numbers]: [bigint[][], Set<bigint>] = [[], new Set()];
    for (let position = START; pages.at(-1)?.length !== 0; ) {
      const { entries } = await store.plants.readEntries(position);
      position = entries.at(-1) ?? position;
      for (const { changed } of entries) numbers.add(changed);
      pages.push(entries.map(({ id }) => id));
    }
    expect(numbers.size).toBeLessThan(200);
    expect(new Set(pages.flat())).toEqual(new Set(Array.from({ length: 450 }, (_, n) => BigInt(n + 1))));
    expect(Math.max(...pages.map(({ length }) => length))).toBe(200);
  });

  describe('a lease', () => {
    beforeEach(() => store.add());

    test('is held by one, until it is released or expires by the clock of the database', async () => {
      const both = [store, await store.another()] as const;
      const all = await Promise.all(Array.from({ length: 20 }, (_, n) => both[n % 2 === 0 ? 0 : 1].take()));
      const held = all.filter((lease) => lease !== undefined);
      expect(held).toHaveLength(1);
      await store.release(held);
      await taken(store, 50);
      await eventually(async () => (await store.take()) !== undefined);
      expect(await store.take()).toBeUndefined();
    });

    test('can be renewed as long as nobody else has it, and is needed to keep anything', async () => {
      const first = await taken(store, 1);
      await delay(10);
      expect(await store.renew(first, 1)).toBe('renewed');
      await delay(10);
      const second = await taken(store);
      expect(await store.renew(first)).toBe('lost');
      expect(await store.renew(second)).toBe('renewed');
      expect(await store.advance(first, { changed: 9n, id: 9n })).toBe(false);
      await store.fail(first, setback({ changed: 1n, id: 1n }));
      await store.release([first]);
      expect(await store.take()).toBeUndefined();
      expect(await state()).toMatchObject({ position: START, failures: 0 });
      expect(await store.advance(second, { changed: 9n, id: -9n })).toBe(true);
      await store.release([second]);
      expect((await taken(store)).position).toEqual({ changed: 9n, id: -9n });
    });

    test('begins anew, with another holder, where the database was set back', async () => {
      await store.plants.add(plant(1n));
      const lease = await taken(store);
      const { entries } = await store.plants.readEntries(lease.position);
      const last = entries.at(-1) ?? START;
      await store.advance(lease, last);
      const advanced = { ...lease, position: { changed: last.changed, id: last.id } };
      expect(await store.renew(advanced)).toBe('renewed');
      await store.query(`update webhooks set changed = ${lease.position.changed}, id = ${lease.position.id}`);
      const again = (await store.takeAll([advanced], MINUTE)).get(ENDPOINT);
      expect(again).toMatchObject({ position: lease.position, holder: expect.not.stringMatching(lease.holder) });
      expect(await store.renew(advanced)).toBe('lost');
    });

    test('is not had again by its holder, and no late statement sets the position back', async () => {
      const first = await taken(store);
      const position = { changed: 9n, id: 9n };
      const next = { changed: 10n, id: 1n };
      // After a lost connection the statement is repeated.
      for (const _ of [1, 2]) expect(await store.advance(first, position)).toBe(true);
      expect(await store.advance({ ...first, position }, next)).toBe(true);
      expect(await store.advance(first, position)).toBe(false);
      await store.release([first]);
      const again = await store.takeAll([first], MINUTE);
      expect(leasesIn(again)).toMatchObject([{ position: next, holder: expect.not.stringMatching(first.holder) }]);
    });

    test('is taken and renewed for many endpoints by one statement, each with its position', async () => {
      const names = Array.from({ length: 100 }, (_, n) => `hooks.example "${n}", {}`);
      const [many, other] = [await store.another(names), await store.another(names)];
      const first = leasesIn(await many.takeAll([], MINUTE));
      expect(first.map(({ endpoint }) => endpoint).sort()).toEqual(names.toSorted());
      const [one, two] = first as [Lease, Lease];
      await many.advance(one, { changed: 9n, id: 9n });
      await many.release([one, two]);
      const second = leasesIn(await other.takeAll([], MINUTE));
      const positions = [
        [one.endpoint, { changed: 9n, id: 9n }],
        [two.endpoint, START],
      ] as const;
      expect(new Map(second.map(({ endpoint, position }) => [endpoint, position]))).toEqual(new Map(positions));
      const isLost = (lease: Lease) => lease === one || lease === two;
      const outcomes = first.map((lease) => [lease.endpoint, isLost(lease) ? 'lost' : 'renewed'] as const);
      expect(await many.takeAll(first, MINUTE)).toEqual(new Map(outcomes));
    });

    test('that expires later than it can is left from another clock, and free', async () => {
      const first = await taken(store);
      await store.shift('expires', DAY);
      const second = await taken(store);
      expect(second.holder).not.toBe(first.holder);
      expect(await store.take()).toBeUndefined();
    });
  });

  describe('after a failure', () => {
    const failing: Position = { changed: 7n, id: -5n };
    beforeEach(async () => {
      await store.add();
      await store.fail(await taken(store), setback(failing));
    });
    const isDue = () => store.shift('retry_at', -DAY);

    test('there is no lease before the next attempt is due, which knows of the failure', async () => {
      expect(await store.take()).toBeUndefined();
      expect(await state()).toMatchObject({ failures: 1, failing, reason: 'it responded with 500', isParked: false });
      expect((await state())?.retryIn).toBeCloseTo(60, -1);
      await isDue();
      await store.shift('failing_since', -2 * HOUR);
      const lease = await taken(store);
      expect(lease.failures).toBe(1);
      expect(lease.failingFor / MINUTE).toBeCloseTo(120, 0);
      // Another failure does not move the first one.
      await store.fail(lease, setback(failing, { failures: 2 }));
      await isDue();
      const next = await taken(store);
      expect(next.failingFor / MINUTE).toBeCloseTo(120, 0);
      // Progress forgets it.
      await store.advance(next, { changed: 8n, id: 1n });
      expect(await state()).toMatchObject({ failures: 0, reason: undefined, failing: undefined, retryIn: 0 });
    });

    test('a clock that was ahead and is corrected delays no attempt, also if a holder dies', async () => {
      for (const column of ['retry_at', 'expires', 'failing_since'] as const) await store.shift(column, HOUR);
      expect(await state()).toMatchObject({ retryIn: 0 });
      await taken(store);
      await store.shift('expires', -2 * MINUTE);
      expect(await taken(store)).toMatchObject({ failures: 1 });
    });

    test('what fails can be skipped, unless something else fails by then', async () => {
      expect(await store.endpoints.skip(ENDPOINT, { ...failing, id: 5n })).toBe(false);
      expect(await store.endpoints.skip(ENDPOINT, failing)).toBe(true);
      // As after a lost connection.
      expect(await store.endpoints.skip(ENDPOINT, failing)).toBe(true);
      const lease = await taken(store);
      expect(lease).toMatchObject({ failures: 0, position: failing });
      await store.advance(lease, { changed: 8n, id: 1n });
      expect(await store.endpoints.skip(ENDPOINT, failing)).toBe(false);
    });

    test.each<[string, () => Promise<boolean>, Position]>([
      ['resumed', () => store.endpoints.resume(ENDPOINT), START],
      ['rewound', () => store.endpoints.rewind(ENDPOINT), START],
      ['told to skip', () => store.endpoints.skip(ENDPOINT, failing), failing],
    ])('nobody delivers to an endpoint that is %s while its deliverer may begin requests', async (_, act, position) => {
      await isDue();
      const lease = await taken(store);
      expect(await act()).toBe(true);
      expect(await store.renew(lease)).toBe('lost');
      expect(await store.advance(lease, { changed: 9n, id: 9n })).toBe(false);
      expect(await store.take()).toBeUndefined();
      await store.shift('expires', -DAY);
      expect((await taken(store)).position).toEqual(position);
    });
  });

  test('says how far each endpoint is behind', async () => {
    await store.add();
    expect(await state()).toMatchObject({ backlog: 0, end: START, position: START });
    await Promise.all(Array.from({ length: BACKLOG_ROWS_MAX + 5 }, (_, n) => store.plants.add(plant(BigInt(n)))));
    const at = async (offset: number) => {
      const [row] = await store.query(`select changed, id from plants order by changed, id limit 1 offset ${offset}`);
      return { changed: BigInt(`${row?.changed}`), id: BigInt(`${row?.id}`) };
    };
    const end = await at(BACKLOG_ROWS_MAX + 4);
    expect(await state()).toMatchObject({ backlog: BACKLOG_ROWS_MAX, end, position: START });
    await store.advance(await taken(store), await at(BACKLOG_ROWS_MAX - 1));
    expect((await state())?.backlog).toBe(5);
  });
});

describe('on a Postgres', () => {
  let store: Webhooks;
  beforeEach(async () => {
    store = await onPostgres();
  });

  test('has the epoch that the feed has, from the first page of a timeline on', async () => {
    await store.plants.add(plant(1n));
    const epochOf = async () => (await store.plants.readEntries(START)).epoch;
    const first = await epochOf();
    // As after a promotion: only an earlier timeline has a record.
    await store.query(`update change_feed set recorded = '{"another": 1}'`);
    const second = await epochOf();
    await store.plants.readChanges({ after: undefined, limit: 10, wait: 0, signal: new AbortController().signal });
    expect(second).not.toBe(first);
    expect(await epochOf()).toBe(second);
  });

  describe('after a restore', () => {
    /** As pg_dump and pg_restore would, which write what a column of the type regclass has as the name of the table. */
    const dump =
      'create table dumped as select * from plants; create table others as select *, plants::text as name from webhooks';
    const restorePlants = `drop table plants cascade;
      create table plants (id bigint primary key, name text not null, tag text, deleted timestamptz,
        changed bigint not null default (pg_current_xact_id()::text::bigint));
      create index plants_by_change on plants (changed, id);
      insert into plants (id, name, tag, deleted, changed) select id, name, tag, deleted, changed from dumped`;
    const restoreWebhooks = `delete from webhooks;
      insert into webhooks (endpoint, plants, changed, id) select endpoint, name::regclass, changed, id from others`;
    const inParts = async (statements: string) => {
      for (const statement of statements.split(';')) await store.query(statement);
    };
    beforeEach(async () => {
      await store.add();
      await store.plants.add(plant(1n));
      await inParts(dump);
      const { entries } = await store.plants.readEntries(START);
      const lease = await taken(store);
      await store.advance(lease, entries[0] ?? START);
      await store.release([lease]);
      await store.plants.add(plant(2n));
    });
    afterEach(() => inParts('drop table dumped; drop table others'));

    test('of both tables, goes on at the position of then', async () => {
      await inParts(restorePlants);
      await inParts(restoreWebhooks);
      const { position } = await taken(store);
      expect(position).toEqual(START);
      expect(await idsAfter(store, position)).toEqual([1n]);
    });

    test('of the plants alone, ends the lease, and is parked until it is rewound', async () => {
      const lease = await taken(store);
      await inParts(restorePlants);
      expect(await store.renew(lease)).toBe('lost');
      await store.release([lease]);
      expect(await store.take()).toBeUndefined();
      const reason = expect.stringMatching(/^the table plants was replaced/);
      expect((await store.endpoints.states())[0]).toMatchObject({ isParked: true, reason });
      expect(await store.ready()).toContain('rewind it');
      expect(await store.endpoints.resume(ENDPOINT)).toBe(false);
      expect(await store.endpoints.skip(ENDPOINT, START)).toBe(false);
      expect(await store.endpoints.rewind(ENDPOINT)).toBe(true);
      expect(await idsAfter(store, (await taken(store)).position)).toEqual([1n]);
    });

    test('from a server that had more transactions, goes on once it is migrated', async () => {
      await store.query('update plants set changed = 1000000000000 + id');
      await store.query('update webhooks set changed = 1000000000001, id = 1');
      const another = await store.another(['another one']);
      await expect(another.add()).rejects.toMatchObject({ code: 'store_unavailable' });
      await expect(store.plants.readEntries(START)).rejects.toMatchObject({ code: 'store_unavailable' });
      await migrateUp(shared.database);
      await store.plants.add(plant(3n));
      expect(await idsAfter(store, (await taken(store)).position)).toEqual([2n, 3n]);
      await store.query('update change_feed set shift = 0');
      await store.query('alter table plants alter column changed set default (pg_current_xact_id()::text::bigint)');
    });
  });
});

test('counts what waits by the index, also without statistics of the table', async () => {
  const { database, query } = await onServer();
  await query(`insert into plants (id, name, changed)
    select hashint8extended(n, 0), 'plant number ' || n, 1 + abs(hashint4(n) % 500) from generate_series(1, 100000) as n`);
  await webhooksIn(database).add();
  const plans: unknown[] = [];
  const explain = async (text: string, parameters: readonly unknown[]) =>
    plans.push(...(await database.sql.executeQuery(CompiledQuery.raw(`explain ${text}`, [...parameters]))).rows);
  await webhooksIn(observed(database, explain)).endpoints.states();
  const plan = plans.map((row) => Object.values(row as object)).join('\n');
  expect(plan).toMatch(/Index .*Scan.* on plants\b/);
  expect(plan).not.toMatch(/(Seq|Bitmap Heap) Scan on plants\b/);
  // No count for metrics.
  const shown = { endpoint: ENDPOINT, position: expect.any(Object), end: expect.any(Object), isParked: false };
  expect(await endpointStates(runnerOn(database).run)()).toEqual([shown]);
});

test('is told to operators also without the row of the feed, which a restore may omit', async () => {
  const { database, query } = await onServer();
  const { add, endpoints } = webhooksIn(database);
  await add();
  await query('delete from change_feed');
  expect(await endpoints.states()).toMatchObject([{ endpoint: ENDPOINT, backlog: 0 }]);
});

test('a row that is locked is passed over, and its lease is as it was', async () => {
  const { url, database } = await onServer();
  const store = webhooksIn(database);
  await store.add();
  const first = await taken(store);
  const client = await openTransaction(url, 'select from webhooks for update');
  expect(await store.renew(first)).toBeUndefined();
  expect(await store.take()).toBeUndefined();
  await client.query('commit');
  expect(await store.renew(first)).toBe('renewed');
});

test('without its table, /ready says what to do, and only if there are webhooks', async () => {
  const { database, query } = await onServer();
  await query('drop table webhooks');
  const ready = () => readinessOf(database, [ENDPOINT]);
  expect(await readinessOf(database)).toBeUndefined();
  expect(await ready()).toMatch(/^relation "webhooks" does not exist: .*run npm run migrate/);
  expect(await migrateUp(database)).toEqual(['0005_webhooks']);
  await webhooksIn(database).add();
  expect(await ready()).toBeUndefined();
});

test('a lease that was taken after a statement began is not free for that statement', async () => {
  const { database } = await onServer();
  const store = webhooksIn(database);
  await store.add();
  await database.sql.transaction().execute(async (sql) => {
    // now() is the time at which this transaction began, before the lease was taken.
    expect(await store.take()).toBeDefined();
    expect(await webhooksIn({ ...database, sql }).take()).toBeUndefined();
  });
});
