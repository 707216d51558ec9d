import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import {
  type CompiledQuery,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely';
import { storeCalls } from '../../../../src/adapters/postgres/calls/store-call.ts';
import type { Tables } from '../../../../src/adapters/postgres/database.ts';
import { plantReader } from '../../../../src/adapters/postgres/plants/plant-reader.ts';
import { eventually } from '../../../support/eventually.ts';

/* How reads share the connections. What they read is in test/adapters/plant-repository-reads.test.ts. */

interface Statement {
  readonly query: CompiledQuery;
  readonly respond: (rows: unknown[]) => void;
}

/** A reader on ten connections whose statements wait until the test responds. */
function setUp({ isWriting = false } = {}) {
  const running: Statement[] = [];
  const connection = {
    executeQuery<Row>(query: CompiledQuery) {
      const { promise, resolve } = Promise.withResolvers<{ rows: Row[] }>();
      const statement: Statement = {
        query,
        respond(rows) {
          running.splice(running.indexOf(statement), 1);
          resolve({ rows: rows as Row[] });
        },
      };
      running.push(statement);
      return promise;
    },
    streamQuery: () => {
      throw new TypeError('no statement is streamed');
    },
  };
  const nothing = async () => {};
  const driver: Driver = {
    acquireConnection: async () => connection,
    init: nothing,
    releaseConnection: nothing,
    destroy: nothing,
    beginTransaction: nothing,
    commitTransaction: nothing,
    rollbackTransaction: nothing,
  };
  const sql = new Kysely<Tables>({
    dialect: {
      createDriver: () => driver,
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (database) => new PostgresIntrospector(database),
    },
  });
  const database = { sql, connections: 10, description: '', close: nothing };
  const reader = plantReader(
    database,
    storeCalls({ schemaReady: () => undefined, timeout: 60_000 }),
    async () => false,
    () => isWriting,
  );
  return { running, reader };
}

/** Whether it finds plants, and without the texts of large ones. */
const isShared = ({ query }: Statement) => query.sql.includes('any(') && !query.parameters.includes(2 ** 31 - 1);
/** The arrays among the parameters, in their order. */
const arraysIn = ({ query }: Statement) =>
  query.parameters
    .filter((value): value is string => typeof value === 'string' && value.startsWith('{'))
    .map((array) => array.slice(1, -1).split(',').map(BigInt));
const idsIn = (one: Statement) => (one.query.sql.includes('any(') ? arraysIn(one).at(0) : undefined) ?? [];
const NOTHING = { found: 0, count: 0, lines: null, last: null, end: null };

test('finds of 1,000 plants share statements, at most five at a time', async () => {
  const { running, reader } = setUp();
  const ids = Array.from({ length: 1_000 }, (_, n) => BigInt(n));
  const finds = ids.map((id) => reader.find(id));
  let statements = 0;
  let most = 0;
  for (let found = 0; found < ids.length; statements++) {
    await eventually(() => running.length > 0);
    most = Math.max(most, running.length);
    const asked = idsIn(running[0] as Statement);
    found += asked.length;
    running[0]?.respond(asked.map((id) => ({ id, name: `plant ${id}`, tag: null })));
  }
  expect(await Promise.all(finds)).toEqual(ids.map((id) => ({ id, name: `plant ${id}` })));
  expect(statements).toBeLessThan(10);
  expect(most).toBeLessThanOrEqual(5);
});

test('large plants and ranges get one connection of ten, and finds of small plants do not wait for them', async () => {
  const { running, reader } = setUp();
  const alone = reader.find(2_000n);
  const isFor = (id: bigint) => (statement: Statement) => isShared(statement) && idsIn(statement).includes(id);
  const large = Array.from({ length: 100 }, (_, n) => reader.find(BigInt(n)));
  const isRead = large.map(() => false);
  for (const [n, find] of large.entries()) {
    void find.then(() => {
      isRead[n] = true;
    });
  }
  const ranges = Array.from({ length: 10 }, () => reader.readBatch({ from: 0n, to: 9n, tag: 'tag' }, 5));
  await eventually(() => running.some(isFor(2_000n)));
  running.find(isFor(2_000n))?.respond([{ id: 2_000n, name: 'alone', tag: null }]);
  expect(await alone).toEqual({ id: 2_000n, name: 'alone' });
  let left = large.length;
  while (left > 0) {
    await eventually(() => running.some(isShared));
    const group = running.find(isShared) as Statement;
    const ids = idsIn(group);
    left -= ids.length;
    // Too much text for a group: the id only.
    group.respond(ids.map((id) => ({ id, name: null, tag: null })));
  }
  await eventually(() => running.length === 1);
  const small = reader.find(1_000n);
  await eventually(() => running.some(isFor(1_000n)));
  expect(running).toHaveLength(2);
  running.find(isFor(1_000n))?.respond([{ id: 1_000n, name: 'small', tag: null }]);
  expect(await small).toEqual({ id: 1_000n, name: 'small' });
  expect(isRead).not.toContain(true);

  let most = 0;
  const all = Promise.all([...large, ...ranges]);
  let isOver = false;
  void all.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await eventually(() => isOver || running.length > 0);
    most = Math.max(most, running.length);
    const [one] = running;
    const [id] = one === undefined ? [] : idsIn(one);
    one?.respond([id === undefined ? NOTHING : { id, name: 'large', tag: null }]);
  }
  expect(await Promise.all(large)).toEqual(large.map((_, n) => ({ id: BigInt(n), name: 'large' })));
  expect(most).toBe(1);
});

test.each([
  { title: 'pauses between long statements while plants are being written', isWriting: true },
  { title: 'does not pause between long statements otherwise', isWriting: false },
])('$title', async ({ isWriting }) => {
  const { running, reader } = setUp({ isWriting });
  const reads = [1, 2].map(() => reader.readBatch({ from: 0n, to: 9n, tag: 'tag' }, 5));
  await eventually(() => running.length === 1);
  await delay(40);
  const responded = performance.now();
  running[0]?.respond([NOTHING]);
  await eventually(() => running.length === 1);
  const pause = performance.now() - responded;
  running[0]?.respond([NOTHING]);
  await Promise.all(reads);
  if (isWriting) expect(pause).toBeGreaterThan(80);
  else expect(pause).toBeLessThan(80);
});

test('reads the first plant, a large one, behind 12,000 deleted plants with a few statements', async () => {
  const { running, reader } = setUp();
  const first = reader.readBatch({ from: 0n, to: 99_999n }, 1);
  let statements = 0;
  for (let isFound = false; !isFound; statements++) {
    await eventually(() => running.length > 0);
    const [one] = running as [Statement];
    const [[from = 0n] = [], , , [scanned = 0n] = []] = arraysIn(one);
    const last = from + scanned - 1n;
    // Only if it is alone, it may be as large as it is.
    isFound = last >= 12_000n && one.query.parameters.includes(true);
    const plant = isFound ? { count: 1, lines: '{"id":12000}', last: 12_000n } : {};
    one.respond([{ ...NOTHING, ...(last >= 12_000n ? { found: 1, ...plant } : { end: last }) }]);
  }
  expect(await first).toEqual({ lines: '{"id":12000}', count: 1, lastId: 12_000n, isLast: true });
  expect(statements).toBeLessThan(10);
});
