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
import type { Tables } from '../../../src/adapters/postgres/database.ts';
import { plantReader } from '../../../src/adapters/postgres/plant-reader.ts';
import { storeCalls } from '../../../src/adapters/postgres/store-call.ts';
import { eventually } from '../../support/eventually.ts';

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

/** Whether it finds several plants. */
const isGroup = ({ query }: Statement) => query.sql.includes('any(');
const idsIn = ({ query }: Statement) => String(query.parameters[0]).replace(/[{}]/g, '').split(',');

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
  // A plant that is wanted while no other is gets a statement that has all of it, whatever its size.
  const alone = reader.find(2_000n);
  const isFor = (id: bigint) => (statement: Statement) => statement.query.parameters[0] === id;
  const large = Array.from({ length: 100 }, (_, n) => reader.find(BigInt(n)));
  const isRead = large.map(() => false);
  for (const [n, find] of large.entries()) {
    void find.then(() => {
      isRead[n] = true;
    });
  }
  const ranges = Array.from({ length: 10 }, () => reader.readIds({ from: 0n, to: 9n }, 5));
  await eventually(() => running.some(isFor(2_000n)));
  running.find(isFor(2_000n))?.respond([{ id: '2000', name: 'alone', tag: null }]);
  expect(await alone).toEqual({ id: 2_000n, name: 'alone' });
  let left = large.length;
  while (left > 0) {
    await eventually(() => running.some(isGroup));
    const group = running.find(isGroup) as Statement;
    const ids = idsIn(group);
    left -= ids.length;
    // Too much text for a group: the id only.
    group.respond(ids.map((id) => ({ id, name: null, tag: null })));
  }
  await eventually(() => running.length === 1);
  const small = reader.find(1_000n);
  await eventually(() => running.some(isFor(1_000n)));
  expect(running).toHaveLength(2);
  running.find(isFor(1_000n))?.respond([{ id: '1000', name: 'small', tag: null }]);
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
    one?.respond([{ id: String(one.query.parameters[0]).replace(/[{}]/g, ''), name: 'large', tag: null }]);
  }
  expect(await Promise.all(large)).toEqual(large.map((_, n) => ({ id: BigInt(n), name: 'large' })));
  expect(most).toBe(1);
});

test.each([
  { title: 'pauses between long statements while plants are being written', isWriting: true },
  { title: 'does not pause between long statements otherwise', isWriting: false },
])('$title', async ({ isWriting }) => {
  const { running, reader } = setUp({ isWriting });
  const reads = [1, 2].map(() => reader.readIds({ from: 0n, to: 9n }, 5));
  await eventually(() => running.length === 1);
  await delay(40);
  const responded = performance.now();
  running[0]?.respond([]);
  await eventually(() => running.length === 1);
  const pause = performance.now() - responded;
  running[0]?.respond([]);
  await Promise.all(reads);
  if (isWriting) expect(pause).toBeGreaterThan(80);
  else expect(pause).toBeLessThan(80);
});

test.each<[string, (reader: ReturnType<typeof setUp>['reader']) => Promise<unknown>]>([
  ['the first id', (reader) => reader.readIds({ from: 0n, to: 99_999n }, 1)],
  ['the first plant, a large one,', (reader) => reader.readBatch({ from: 0n, to: 99_999n, tag: 'tag' }, 1)],
])('reads %s behind 12,000 deleted plants with a few statements', async (_what, read) => {
  const { running, reader } = setUp();
  const first = read(reader);
  let statements = 0;
  for (let from = 0; from <= 12_000; statements++) {
    await eventually(() => running.length > 0);
    const [one] = running as [Statement];
    if (one.query.sql.includes('string_agg')) {
      one.respond([{ lines: '!', count: 1, reached: null }]);
      continue;
    }
    const count = Number(String(one.query.parameters[2]).replace(/[{}]/g, ''));
    const rows = Array.from({ length: Math.min(count, 12_001 - from) }, (_, n) => {
      const id = `${from + n}`;
      return { id, name: 'name', tag: 'tag', is_deleted: from + n < 12_000 };
    });
    from += rows.length;
    one.respond(rows);
  }
  expect(await first).toEqual(expect.anything());
  expect(statements).toBeLessThan(10);
});
