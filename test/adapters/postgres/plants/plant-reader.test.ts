import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import type { PostgresPlants } from '../../../../src/adapters/postgres/postgres-plants.ts';
import { lockRows, observed } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forEachTest } from '../../../support/lifetimes.ts';
import { contentOf, many } from '../../../support/plants/plant-lines.ts';
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

/** From now on holds back what reads ranges, until `deliverLate`. @returns when each came, as performance.now() counts */
function holdRanges(): number[] {
  const held: number[] = [];
  network.interfere((sent) => {
    if (!sent.includes(RANGE)) return undefined;
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

test('ranges get one connection of ten, and finds, also of large plants, do not wait for them', async () => {
  const LARGE = 1.1e6;
  await server.query(`insert into plants select n, repeat('x', ${LARGE}), 'tag' from generate_series(1, 10) as n`);
  await server.query(`insert into plants values (1000, 'small')`);
  const plants = plantsIn(database);
  const held = holdRanges();
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

test.each([
  { title: 'pauses between long statements while plants are being written', isWriting: true },
  { title: 'does not pause between long statements otherwise', isWriting: false },
])('$title', async ({ isWriting }) => {
  const plants = plantsIn(database);
  if (isWriting) {
    await lockRows(server.url, [1n]);
    plants.add({ id: 1n, name: 'waits' }).catch(() => {});
  }
  const held = holdRanges();
  const reads = [1, 2, 3, 4].map(() => plants.readBatch(range, MANY));
  const pauses: number[] = [];
  let delivered = 0;
  for (const n of reads.keys()) {
    await eventually(() => held.length > n);
    if (n > 0) pauses.push((held[n] ?? 0) - delivered);
    await delay(40);
    delivered = performance.now();
    await network.deliverLate();
  }
  await Promise.all(reads);
  // A busy machine may delay some.
  expect(Math.min(...pauses) > 80).toBe(isWriting);
});

test('reads the first plant, a large one, behind 12,000 deleted plants with a few statements', async () => {
  await server.query(`insert into plants (id, name, deleted) select n, '', now() from generate_series(0, 11999) as n`);
  const large = { id: 12_000n, name: 'large'.repeat(300_000) };
  const { plants, statements } = counted();
  await plants.add(large);
  statements.length = 0;
  expect(contentOf(await plants.readBatch({ from: 0n, to: 99_999n }, 1))).toEqual({ plants: [large], isLast: true });
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
