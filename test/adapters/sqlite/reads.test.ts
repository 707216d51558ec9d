import { afterEach, expect, jest, test } from '@jest/globals';
import { webhookEndpoints } from '../../../src/adapters/sql/webhooks/endpoint-states.ts';
import { enterEndpoints } from '../../../src/adapters/sql/webhooks/endpoints.ts';
import { embeddedPlants, openEmbedded } from '../../support/embedded-store.ts';
import { allReads } from '../../support/plants/all-reads.ts';
import { many } from '../../support/plants/plant-lines.ts';

/* How reads and writes share the one connection, which is synchronous, and what they pass over. */

afterEach(() => void jest.restoreAllMocks());

const all = { from: 0n, to: 99_999n };
const changes = { after: undefined, limit: 1_000, wait: 0, signal: new AbortController().signal };

/** A database with so many plants. */
async function filled(count: number) {
  const file = await openEmbedded();
  const store = embeddedPlants(file);
  await store.addAll(many(count), false);
  return { file, store };
}

test.each(['changes', 'searches', 'streams'] as const)('a find waits for a few of a hundred %s only', async (what) => {
  const { store } = await filled(300);
  const read = {
    changes: () => store.readChanges(changes),
    searches: () => store.list({ ...all, name: 'none' }, 10),
    streams: () => store.list(all, 2_000),
  };
  let done = 0;
  const others = Array.from({ length: 100 }, async () => {
    await read[what]();
    done++;
  });
  await others[0];
  const before = done;
  expect(await store.find(1n)).toMatchObject({ id: 1n });
  expect(done - before).toBeLessThan(5);
  await Promise.all(others);
});

test('a write that arrives after others have timed out does not get their 503', async () => {
  const { file, store } = await filled(0);
  const [begin, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = file.run('writes', () => {
    begin.resolve();
    return end.promise;
  });
  await begin.promise;
  const overdue = store.add({ id: 1n, name: 'overdue' });
  const now = performance.now.bind(performance);
  jest.spyOn(performance, 'now').mockImplementation(() => now() + file.timeout);
  await expect(overdue).rejects.toMatchObject({ code: 'store_unavailable' });
  const fresh = store.add({ id: 2n, name: 'fresh' });
  end.resolve();
  expect(await fresh).toBe('created');
  await slow;
});

test('a page whose rows come slowly is read in parts, as a whole', async () => {
  const { file, store } = await filled(20);
  const { prepare } = file.sql;
  let parts = 0;
  jest.spyOn(file.sql, 'prepare').mockImplementation((text) => {
    const statement = prepare.call(file.sql, text);
    const { iterate } = statement;
    jest.spyOn(statement, 'iterate').mockImplementation((...values) => {
      parts++;
      return iterate.apply(statement, values);
    });
    return statement;
  });
  let time = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => (time += 3));
  expect(await store.list(all, 20)).toEqual({ plants: many(20), next: undefined });
  expect(parts).toBeGreaterThan(3);
});

test('no read of plants passes over the whole table, and no page is sorted', async () => {
  const file = await openEmbedded();
  const texts = new Set<string>();
  const prepare = file.sql.prepare.bind(file.sql);
  file.sql.prepare = (text) => {
    texts.add(text);
    return prepare(text);
  };
  const store = embeddedPlants(file);
  for (const [, read] of allReads) await read(store);
  await file.run('writes', (session) => enterEndpoints(session, ['an endpoint']));
  await webhookEndpoints(file.run).states();
  const range = { from: 0n, to: 99n, order: 'desc' as const };
  for (const part of [{}, { tag: 'green' }, { name: 'x' }, { tag: 'green', name: 'x' }]) {
    await store.list({ ...range, ...part }, 10);
    await store.count({ ...range, ...part }, 10);
  }
  const stepsOf = (text: string) =>
    prepare(`explain query plan ${text}`)
      .all()
      .map(({ detail }) => `${detail}`);
  const steps = [...texts].filter((text) => text.includes('from plants')).flatMap(stepsOf);
  expect(steps).toContainEqual(expect.stringMatching(/SEARCH plants USING (COVERING )?INDEX plants_by_tag/));
  // The end of the log of changes is a scan of its index that ends at once.
  expect(steps.filter((step) => step.startsWith('SCAN plants') && !step.endsWith('plants_by_change'))).toEqual([]);
  // A search puts its last row behind what it has found, and tags are sixteen.
  const pages = [...texts].filter((text) => !/^\s*with/.test(text));
  expect(pages.flatMap(stepsOf).filter((step) => step.includes('TEMP B-TREE'))).toEqual([]);
});

test('finds names in either normal form, with accents that matter', async () => {
  const store = embeddedPlants(await openEmbedded());
  for (const [n, name] of ['Érable', 'E\u0301rable', 'Erable'].entries()) await store.add({ id: BigInt(n), name });
  const idsOf = async (name: string) => (await store.list({ from: 0n, to: 9n, name }, 10)).plants.map(({ id }) => id);
  for (const name of ['érab', 'e\u0301RAB']) expect(await idsOf(name)).toEqual([0n, 1n]);
  expect(await idsOf('erab')).toEqual([2n]);
});
