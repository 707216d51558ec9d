import { expect, jest, test } from '@jest/globals';
import { embeddedPlants, openEmbedded } from '../../support/embedded-store.ts';
import { many } from '../../support/plants/plant-lines.ts';

/* How reads share the one connection, which is synchronous. */

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
  expect(await store.find(1n)).toMatchObject({ id: 1n });
  expect(done).toBeLessThan(5);
  await Promise.all(others);
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
  jest.restoreAllMocks();
  expect(parts).toBeGreaterThan(3);
});
