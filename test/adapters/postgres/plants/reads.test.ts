import { beforeEach, expect, test } from '@jest/globals';
import type { Database } from '../../../../src/adapters/postgres/connections/pool.ts';
import { observed } from '../../../support/disturbances.ts';
import { eventually } from '../../../support/eventually.ts';
import { forAllTests, forEachTest } from '../../../support/lifetimes.ts';
import { readPage } from '../../../support/plants/changes.ts';
import { startTcpProxy } from '../../../support/servers/tcp-proxy.ts';
import { connect, migratedDatabase, plantsIn, type TestPlants } from '../../../support/test-database.ts';

/* How reads share ten connections. What they read is in test/contract. */

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

test('finds of 1,000 plants share statements, on three quarters of the connections', async () => {
  await server.query(`insert into plants select n, 'plant ' || n from generate_series(1, 1000) as n`);
  const { plants, statements } = counted();
  const ids = Array.from({ length: 1_000 }, (_, n) => BigInt(2 * n + 1));
  const stored = ids.map((id) => (id > 1_000n ? undefined : { id, name: `plant ${id}` }));
  expect(await Promise.all(ids.map((id) => plants.find(id)))).toEqual(stored);
  expect(statements.length).toBeLessThan(10);
  expect(network.connections()).toBeLessThanOrEqual(8);
});

test.each<[string, (plants: TestPlants, id: bigint) => Promise<unknown>]>([
  ['a find', (plants, id) => plants.find(id)],
  ['a page', (plants, id) => plants.list({ from: id, to: id }, 1)],
  ['a page of a tag', (plants, id) => plants.list({ from: id, to: id, tag: 'tag' }, 1)],
])('a row that cannot be read fails %s of it, and no other of its statement', async (_what, read) => {
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

test.each<[string, string, (plants: TestPlants) => Promise<unknown>]>([
  ['parts of streams', 'limit (select', (plants) => plants.list(range, MANY)],
  ['searches', 'strpos', (plants) => plants.list({ ...range, name: 'x' }, 10)],
  ['counts', 'count(', (plants) => plants.count(range, 10)],
  ['lists of tags', 'recursive', (plants) => plants.tags(undefined, 10)],
])('%s get one connection of ten, and finds and pages do not wait for them', async (_what, text, read) => {
  await server.query(`insert into plants select n, 'x', 'tag' from generate_series(1, 10) as n`);
  await server.query(`insert into plants values (1000, 'small')`);
  const plants = plantsIn(database);
  const held = hold(text);
  const background = Array.from({ length: 10 }, () => read(plants));
  await eventually(() => held.length > 0);
  expect(await plants.find(1_000n)).toEqual({ id: 1_000n, name: 'small' });
  expect(held).toHaveLength(1);
  network.interfere(() => undefined);
  expect((await plants.list({ from: 1_000n, to: 2_000n }, 20)).plants).toHaveLength(1);
  await network.deliverLate();
  await Promise.all(background);
});

test('slow pages of the feed get half of the connections, and finds do not wait', async () => {
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

test('searches find a word in a locale with a letter for the end of words', async () => {
  const own = await migratedDatabase();
  await own.query('alter table plants alter column name type text collate "und-x-icu"');
  const plants = plantsIn(connect(own.url));
  const cypress = { id: 1n, name: 'ΚΥΠΑΡΙΣΣΟΣ' };
  await plants.add(cypress);
  for (const name of ['κυπαρισ', 'κυπαρισσος', 'κυπαρισσοσ']) {
    expect(await plants.list({ ...range, name }, 10)).toEqual({ plants: [cypress], next: undefined });
  }
});
