import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/database.ts';
import { runner } from '../../../../src/adapters/postgres/run.ts';
import { postgresStore } from '../../../../src/adapters/postgres/store.ts';
import { listPlants } from '../../../../src/application/list-plants.ts';
import { observed } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forAllTests, forEachTest } from '../../../support/lifetimes.ts';
import { allReads } from '../../../support/plants/all-reads.ts';
import { readPage } from '../../../support/plants/changes.ts';
import { contentOf, many } from '../../../support/plants/plant-lines.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn, type TestPlants } from '../../../support/test-database.ts';

/* How reads share ten connections. What they read is in test/adapters/plant-repository-reads.test.ts. */

const server = forAllTests(migratedDatabase);
const network = forEachTest(() => startTcpProxy(server.url));
let database: Database;
beforeEach(async () => {
  await server.query('truncate plants');
  database = connect(network.url, { poolSize: 10 });
});

const range = { from: 0n, to: 99_999n };
/** More plants than a page has. */
const MANY = 2_000;

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

test('each read takes turns with those that look at as many rows', async () => {
  const taken: string[] = [];
  const run = runner(database, { gate: () => undefined, timeout: 20_000 });
  const noted: typeof run = (lane, ...work) => run(lane, ...work).finally(() => taken.push(lane));
  const store = postgresStore(database, { run: noted, timeout: 20_000 });
  const lanes: Record<string, string> = {};
  for (const [what, read] of allReads) {
    await read(store);
    lanes[what] = [...new Set(taken.splice(0))].join();
  }
  expect(lanes).toEqual({
    'a plant': 'reads',
    'a plant that is not there': 'reads',
    'a page': 'reads',
    'a page that is empty': 'reads',
    'a page of a tag': 'reads',
    'a page of a tag that is not there': 'reads',
    'a part of a stream': 'backgroundReads',
    'a part of a search': 'backgroundReads',
    'the tags': 'backgroundReads',
    'the changes': 'feed',
  });
});

test('finds of 1,000 plants share statements, on three quarters of the connections at most', async () => {
  await server.query(`insert into plants select n, 'plant ' || n from generate_series(1, 1000) as n`);
  const { plants, statements } = counted();
  const ids = Array.from({ length: 1_000 }, (_, n) => BigInt(n + 1));
  expect(await Promise.all(ids.map((id) => plants.find(id)))).toEqual(ids.map((id) => ({ id, name: `plant ${id}` })));
  expect(statements.length).toBeLessThan(10);
  expect(network.connections()).toBeLessThanOrEqual(8);
});

test('a batch whose first plant is large is not the last one if plants have come while it was read', async () => {
  await server.query(
    `insert into plants select 10 * n, case n when 1 then repeat('x', 60000) else 'plant' end from generate_series(1, 19) as n`,
  );
  let statements = 0;
  const plants = plantsIn(
    observed(database, async () => {
      if (statements++ === 0) await server.query(`insert into plants values (11, 'other'), (12, 'other')`);
    }),
  );
  const all: bigint[] = [];
  for (let from = 0n; ; from = (all.at(-1) ?? 0n) + 1n) {
    const { plants: found, isLast } = await plants.scan({ from, to: 999n }, 20);
    all.push(...found.map(({ id }) => id));
    if (isLast) break;
  }
  expect(all).toContain(190n);
});

test.each<[string, (plants: TestPlants, id: bigint) => Promise<unknown>]>([
  ['a find', (plants, id) => plants.find(id)],
  ['a page', (plants, id) => plants.scan({ from: id, to: id }, 1)],
  ['a page of a tag', (plants, id) => plants.scan({ from: id, to: id, tag: 'tag' }, 1)],
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

test.each([
  ['parts of streams', 'limit (select', range, MANY],
  ['searches', 'strpos', { ...range, name: 'x' }, 10],
])(
  '%s get one connection of ten, and finds, pages and large plants do not wait for them',
  async (_what, text, read, count) => {
    const LARGE = 1.1e6;
    await server.query(`insert into plants select n, repeat('x', ${LARGE}), 'tag' from generate_series(1, 10) as n`);
    await server.query(`insert into plants values (1000, 'small')`);
    const plants = plantsIn(database);
    const held = hold(text);
    const background = Array.from({ length: 10 }, () => plants.scan(read, count));
    await eventually(() => held.length > 0);
    network.interfere(() => undefined);
    expect(await plants.find(1_000n)).toEqual({ id: 1_000n, name: 'small' });
    const large = await Promise.all(Array.from({ length: 10 }, (_, n) => plants.find(BigInt(n + 1))));
    for (const found of large) expect(found).toMatchObject({ name: 'x'.repeat(LARGE) });
    expect((await plants.scan({ from: 1_000n, to: 2_000n }, 20)).plants).toHaveLength(1);
    await network.deliverLate();
    for (const batch of await Promise.all(background))
      expect(batch).toMatchObject({ plants: large.slice(0, 1), isLast: false });
  },
);

test('slow pages of the feed get half of the connections, and finds do not wait for them', async () => {
  await server.query(`insert into plants values (1000, 'small')`);
  const plants = plantsIn(database);
  // An open transaction of another test on this server holds the feed back.
  await eventually(async () => (await readPage(plants, undefined)).changes.length === 1);
  const held = hold('purged_changed');
  const pages = Array.from({ length: 30 }, () => readPage(plants, undefined));
  await eventually(() => held.length === 5);
  expect(await plants.find(1_000n)).toEqual({ id: 1_000n, name: 'small' });
  expect(held).toHaveLength(5);
  network.interfere(() => undefined);
  await network.deliverLate();
  for (const { changes } of await Promise.all(pages)) expect(changes).toHaveLength(1);
});

describe('searches', () => {
  const searchOf = (name: string) => ({ ...range, name });

  test('look at a mebibyte of names in a statement, or at one name that has more', async () => {
    await server.query(`insert into plants select n, repeat('x', 300000) from generate_series(1, 5) as n`);
    await server.query(`insert into plants select n, repeat('x', 2000000) from generate_series(6, 7) as n`);
    await server.query(`insert into plants select n, 'short' from generate_series(8, 20) as n`);
    const plants = plantsIn(database);
    const ends: (bigint | undefined)[] = [];
    for (let from = 0n; ; ) {
      const { plants: found, lastId = 0n, isLast } = await plants.scan({ ...searchOf('none'), from }, 10);
      expect(found).toEqual([]);
      ends.push(lastId);
      if (isLast) break;
      from = lastId + 1n;
    }
    expect(ends).toEqual([3n, 5n, 6n, 7n, 20n]);
  });

  test('pass over many small plants beside large ones in a few statements', async () => {
    await server.query(`insert into plants select n, 'small ' || n from generate_series(1, 500) as n`);
    await server.query(`insert into plants select n, repeat('x', 400000) from generate_series(501, 503) as n`);
    for (const order of ['asc', 'desc'] as const) {
      const { plants, statements } = counted();
      expect(await listPlants(plants, () => 0)({ name: 'none', limit: 1, order })).toMatchObject({ first: [] });
      expect(statements.length).toBeLessThan(10);
    }
  });

  test('find the beginning of a word in a locale with a letter for the end of words', async () => {
    const own = await migratedDatabase();
    await own.query('alter table plants alter column name type text collate "und-x-icu"');
    const plants = plantsIn(connect(own.url));
    const cypress = { id: 1n, name: 'ΚΥΠΑΡΙΣΣΟΣ' };
    await plants.add(cypress);
    for (const name of ['ΚΥΠΑΡΙΣ', 'κυπαρισσος', 'κυπαρισσοσ']) {
      expect(contentOf(await plants.scan({ ...range, name }, 10)).plants).toEqual([cypress]);
    }
  });

  test('look at some thousand plants in a statement, and go on behind the last one', async () => {
    await server.query(`insert into plants select n, 'plant ' || n from generate_series(1, 20000) as n`);
    const { plants, statements } = counted();
    const batch = await plants.scan(searchOf('PLANT 7'), 10);
    expect(contentOf(batch).plants).toHaveLength(10);
    const nothing = await plants.scan(searchOf('none'), 10);
    expect(nothing).toMatchObject({ plants: [], isLast: false });
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
  const { first, next } = await listPlants(plants, () => 0)({ after: -1n, limit: 1 });
  expect({ plants: first, next }).toEqual({ plants: [large], next: undefined });
  expect(statements.length).toBeLessThan(10);
});

describe('a statement for a range or several', () => {
  /** What the database says when the statements for ranges that were sent meanwhile are sent again within this text. */
  async function repeated(within: (text: string) => string, read: (plants: TestPlants) => unknown) {
    const rows: Record<string, string | null>[] = [];
    const repeat = async (text: string, parameters: readonly unknown[]) => {
      if (text.includes('from plants where id between')) rows.push(...(await server.query(within(text), parameters)));
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
      (plants) => plants.scan({ from: 0n, to: 99_999n }, 1),
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
    const list = listPlants(plants, () => 0);
    for (const limit of [1, 20, 1_000]) {
      const { first, next } = await list({ limit, tag: 'tag 3' });
      expect([first, next]).toEqual([tagged.slice(0, limit), limit < 700 ? tagged[limit - 1]?.id : undefined]);
    }
    expect(await list({ limit: 1, tag: 'tag 7' })).toMatchObject({ first: [], next: undefined });
    const { tags } = await plants.readTags(undefined, 1);
    expect(tags.map(({ tag }) => tag).sort()).toEqual(Array.from({ length: 7 }, (_, n) => `tag ${n}`));
    for (const { count, isExact } of tags) expect([count > 140, isExact]).toEqual([true, false]);
  });

  test('returns about a mebibyte for all of them together', async () => {
    await server.query(`insert into plants select n, repeat('x', 5000) from generate_series(1, 1000) as n`);
    const totals = await repeated(
      (text) => `select coalesce(sum(octet_length(page.name)), 0) as total from (${text}) as page`,
      (plants) => Promise.all(Array.from({ length: 10 }, () => plants.scan({ from: 1n, to: 1_000n }, 100))),
    );
    expect(totals.length).toBeGreaterThan(0);
    for (const { total } of totals) expect(Number(total)).toBeLessThan(1.1 * 1024 ** 2);
  });
});
