import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import type { PostgresPlants } from '../../../../src/adapters/postgres/postgres-plants.ts';
import { listPlants } from '../../../../src/application/list-plants.ts';
import { lockRows, observed } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { contentOf, many, plantsOf } from '../../../support/plants/plant-lines.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn } from '../../../support/test-database.ts';

/* How reads share ten connections. What they read is in test/adapters/plant-repository-reads.test.ts. */

const server = forEachTest(() => migratedDatabase());
const network = forEachTest(() => startTcpProxy(server.url));
let database: Database;
beforeEach(() => {
  database = connect(network.url, { poolSize: 10 });
});

/** In the statements for ranges only. */
const RANGE = 'string_agg';
const range = { from: 0n, to: 99_999n };
/** More plants than a page has. */
const MANY = 2_000;

/** In those of searches only. */
const SEARCH = 'strpos';

/** From now on holds back statements with this, until `deliverLate`. @returns when each came, as performance.now() counts */
function hold(text: string): number[] {
  const held: number[] = [];
  network.interfere((sent) => {
    if (!sent.includes(text)) return undefined;
    held.push(performance.now());
    return 'late';
  });
  return held;
}

/** The repository, and the statements that have read with it. */
function counted() {
  const statements: string[] = [];
  return { statements, plants: plantsIn(observed(database, (text) => statements.push(text))) };
}

test('finds of 1,000 plants share statements, on half of the connections at most', async () => {
  await server.query(`insert into plants select n, 'plant ' || n from generate_series(1, 1000) as n`);
  const { plants, statements } = counted();
  const ids = Array.from({ length: 1_000 }, (_, n) => BigInt(n + 1));
  expect(await Promise.all(ids.map((id) => plants.find(id)))).toEqual(ids.map((id) => ({ id, name: `plant ${id}` })));
  expect(statements.length).toBeLessThan(10);
  expect(network.connections()).toBeLessThanOrEqual(5);
});

test.each<[string, (plants: PostgresPlants, id: bigint) => Promise<unknown>]>([
  ['a find', (plants, id) => plants.find(id)],
  ['a page', (plants, id) => plants.readBatch({ from: id, to: id }, 1)],
  ['a page of a tag', (plants, id) => plants.readBatch({ from: id, to: id, tag: 'tag' }, 1)],
])('a row that cannot be read fails %s of it, and none of those that share its statement', async (_what, read) => {
  await server.query(`insert into plants select n, 'plant ' || n, 'tag' from generate_series(1, 40) as n`);
  const damaged = Object.assign(new Error('invalid page in block'), { severity: 'ERROR', code: 'XX001' });
  const plants = plantsIn(
    observed(database, (_text, parameters) => {
      if (parameters.some((values) => /\b13\b/.test(`${values}`))) throw damaged;
    }),
  );
  const reads = Array.from({ length: 40 }, (_, n) => read(plants, BigInt(n + 1)));
  const failed = (await Promise.allSettled(reads)).flatMap(({ status }, n) => (status === 'rejected' ? n + 1 : []));
  expect(failed).toEqual([13]);
});

test('ranges get one connection of ten, and finds, also of large plants, do not wait for them', async () => {
  const LARGE = 1.1e6;
  await server.query(`insert into plants select n, repeat('x', ${LARGE}), 'tag' from generate_series(1, 10) as n`);
  await server.query(`insert into plants values (1000, 'small')`);
  const plants = plantsIn(database);
  const held = hold(RANGE);
  const ranges = Array.from({ length: 10 }, () => plants.readBatch(range, MANY));
  await eventually(() => held.length > 0);
  expect(await plants.find(1_000n)).toEqual({ id: 1_000n, name: 'small' });
  const large = await Promise.all(Array.from({ length: 10 }, (_, n) => plants.find(BigInt(n + 1))));
  for (const found of large) expect(found).toMatchObject({ name: 'x'.repeat(LARGE) });
  expect(held.length).toBe(1);
  network.interfere(() => undefined);
  await network.deliverLate();
  for (const batch of await Promise.all(ranges)) expect(batch).toMatchObject({ count: 1, isLast: false });
});

/** Milliseconds from a statement that has taken 40 to the next one of those that may not run beside it. */
async function pauseAfterALongOne(plants: PostgresPlants): Promise<number> {
  const held = hold(RANGE);
  const reads = [1, 2].map(() => plants.readBatch(range, MANY));
  await eventually(() => held.length === 1);
  await delay(40);
  const delivered = performance.now();
  await network.deliverLate();
  await eventually(() => held.length === 2);
  await network.deliverLate();
  await Promise.all(reads);
  return (held[1] ?? 0) - delivered;
}

test('pauses between long statements while plants are being written', async () => {
  const plants = plantsIn(database);
  await lockRows(server.url, [1n]);
  plants.add({ id: 1n, name: 'waits' }).catch(() => {});
  expect(await pauseAfterALongOne(plants)).toBeGreaterThan(80);
});

test('does not pause between long statements otherwise', async () => {
  const plants = plantsIn(database);
  // A busy machine may delay some of them.
  await eventually(async () => (await pauseAfterALongOne(plants)) < 80);
});

describe('searches', () => {
  const searchOf = (name: string) => ({ ...range, name });

  test('get one connection of ten, and others do not wait for them', async () => {
    await server.query(`insert into plants select n, 'plant ' || n from generate_series(1, 10) as n`);
    const plants = plantsIn(database);
    const held = hold(SEARCH);
    const searches = Array.from({ length: 10 }, () => plants.readBatch(searchOf('plant'), MANY));
    await eventually(() => held.length > 0);
    for (const count of [1, MANY]) expect((await plants.readBatch(range, count)).count).toBe(Math.min(count, 10));
    expect(await plants.find(10n)).toEqual({ id: 10n, name: 'plant 10' });
    expect(held.length).toBe(1);
    network.interfere(() => undefined);
    await network.deliverLate();
    for (const batch of await Promise.all(searches)) expect(batch).toMatchObject({ count: 10, isLast: true });
  });

  test('have every fifth turn while streams go on, and all of them otherwise', async () => {
    const { plants, statements } = counted();
    const search = () => plants.readBatch(searchOf('none'), MANY);
    const searched = () => statements.filter((text) => text.includes(SEARCH)).length;
    // What the first ones ask of the database is known then.
    await Promise.all([plants.readBatch(range, MANY), search()]);
    statements.length = 0;
    let isOver = false;
    const searching = (async () => {
      while (!isOver) await search();
    })();
    let parts = 0;
    for (; searched() < 8; parts++) await plants.readBatch(range, MANY);
    isOver = true;
    // The first one has waited for none.
    expect(searched()).toBeLessThanOrEqual(1 + parts / 4);
    await searching;
    statements.length = 0;
    for (let searches = 1; searches <= 10; searches++) await search();
    expect(searched()).toBe(10);
  });

  test('look at a mebibyte of names in a statement, or at one name that has more', async () => {
    await server.query(`insert into plants select n, repeat('x', 300000) from generate_series(1, 5) as n`);
    await server.query(`insert into plants select n, repeat('x', 2000000) from generate_series(6, 7) as n`);
    await server.query(`insert into plants select n, 'short' from generate_series(8, 20) as n`);
    const plants = plantsIn(database);
    const ends: (bigint | undefined)[] = [];
    for (let from = 0n; ; ) {
      const { count, lastId = 0n, isLast } = await plants.readBatch({ ...searchOf('none'), from }, 10);
      expect(count).toBe(0);
      ends.push(lastId);
      if (isLast) break;
      from = lastId + 1n;
    }
    expect(ends).toEqual([3n, 5n, 6n, 7n, 20n]);
  });

  test('look at some thousand plants in a statement, and go on behind the last one', async () => {
    await server.query(`insert into plants select n, 'plant ' || n from generate_series(1, 20000) as n`);
    const { plants, statements } = counted();
    const batch = await plants.readBatch(searchOf('PLANT 7'), 10);
    expect(contentOf(batch).plants).toHaveLength(10);
    const nothing = await plants.readBatch(searchOf('none'), 10);
    expect(nothing).toMatchObject({ count: 0, isLast: false });
    expect(nothing.lastId).toBeLessThanOrEqual(10_000n);
    expect(nothing.lastId).toBeGreaterThanOrEqual(1_000n);
    expect(statements).toHaveLength(2);
  });
});

test('reads the first plant, a large one, behind 12,000 deleted plants with a few statements', async () => {
  await server.query(`insert into plants (id, name, deleted) select n, '', now() from generate_series(0, 11999) as n`);
  const large = { id: 12_000n, name: 'large'.repeat(300_000) };
  const { plants, statements } = counted();
  await plants.add(large);
  statements.length = 0;
  const { first, next } = await listPlants(plants)({ after: -1n, limit: 1 });
  expect({ plants: plantsOf(first), next }).toEqual({ plants: [large], next: undefined });
  expect(statements.length).toBeLessThan(10);
});

describe('a statement for pages', () => {
  /** What the database says when the statements for pages that were sent meanwhile are sent again within this text. */
  async function repeated(within: (text: string) => string, read: (plants: PostgresPlants) => unknown) {
    const rows: Record<string, string | null>[] = [];
    const repeat = async (text: string, parameters: readonly unknown[]) => {
      if (text.includes('unnest')) rows.push(...(await server.query(within(text), parameters)));
    };
    await read(plantsIn(observed(database, repeat)));
    return rows;
  }

  test('scans no more than some thousand deleted plants at once', async () => {
    await server.query(
      `insert into plants (id, name, deleted) select n, '', now() from generate_series(1, 30000) as n`,
    );
    await server.query(`insert into plants values (30001, 'behind them')`);
    const plans = await repeated(
      (text) => `explain (analyze, timing off) ${text}`,
      (plants) => plants.readBatch({ from: 0n, to: 99_999n }, 1),
    );
    const scanned = plans.flatMap((row) => Number(/Scan .*actual rows=(\d+)/.exec(row['QUERY PLAN'] ?? '')?.[1] ?? []));
    expect(scanned.length).toBeGreaterThan(10);
    expect(Math.max(...scanned)).toBeLessThan(6_000);
  });

  test('passes over plants with another tag of the same hash', async () => {
    await server.query(`create function public.hashtextextended(text, bigint) returns bigint language plpgsql
      immutable as 'begin return 1; end'`);
    await server.query(`do $$begin
      execute format('alter database %I set search_path = public, pg_catalog', current_database());
    end$$`);
    await server.query('drop index plants_by_tag');
    await server.query('set search_path = public, pg_catalog; create index on plants (hashtextextended(tag, 0), id)');
    await server.query(`insert into plants select n, 'plant', 'tag ' || n % 7 from generate_series(1, 4900) as n`);
    const tagged = many(700).map(({ id }) => ({ id: 7n * id + 3n, name: 'plant', tag: 'tag 3' }));
    const plants = plantsIn(connect(server.url));
    const all = { from: 0n, to: 99_999n, tag: 'tag 3' };
    for (const count of [1, 20, 1_000, MANY]) {
      const batch = contentOf(await plants.readBatch(all, count));
      expect(batch).toEqual({ plants: tagged.slice(0, count), isLast: count >= 700 });
    }
    expect(contentOf(await plants.readBatch({ ...all, tag: 'tag 7' }, 1))).toEqual({ plants: [], isLast: true });
  });

  test('returns about a mebibyte for all of them together', async () => {
    await server.query(`insert into plants select n, repeat('x', 5000) from generate_series(1, 1000) as n`);
    const totals = await repeated(
      (text) => `select coalesce(sum(octet_length(lines)), 0) as total from (${text}) as page`,
      (plants) => Promise.all(Array.from({ length: 10 }, () => plants.readBatch({ from: 1n, to: 1_000n }, 100))),
    );
    expect(totals.length).toBeGreaterThan(0);
    for (const { total } of totals) expect(Number(total)).toBeLessThan(1.1 * 1024 ** 2);
  });
});
