import { describe, expect, test } from '@jest/globals';
import { renewFeed } from '../../../src/adapters/sqlite/changes/feed-identity.ts';
import { plantPurge } from '../../../src/adapters/sqlite/changes/purge.ts';
import { MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { embeddedPlants, openEmbedded, plantsInFile } from '../../support/embedded-store.ts';
import { forEachTest } from '../../support/lifetimes.ts';
import { deletion, readPage, readToEnd } from '../../support/plants/changes.ts';

/* What the feed of changes of SQLite shows beside the tests of every repository: purging, and other files. */

const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });
const expired = { code: 'cursor_expired' };

const store = forEachTest(async () => {
  const file = await openEmbedded();
  const plants = embeddedPlants(file);
  const purge = plantPurge(file);
  return {
    file,
    plants,
    add: (...ids: readonly bigint[]) => Promise.all(ids.map((id) => plants.add(plant(id)))),
    remove: async (...ids: readonly bigint[]) => {
      for (const id of ids) await plants.remove(id);
    },
    async purge({ minAge = 0, id = undefined as bigint | undefined, isDryRun = false } = {}): Promise<number> {
      let total = 0;
      for await (const count of purge({ minAge, id }, isDryRun)) total += count;
      return total;
    },
  };
});
const ids = async () => (await plantsInFile(store.file)).map(({ id }) => id);

describe('purging', () => {
  test('only counts deleted plants in a dry run, and frees their ids otherwise', async () => {
    await store.add(1n, 2n, 3n);
    await store.remove(1n, 3n);
    expect(await store.purge({ isDryRun: true })).toBe(2);
    expect(await store.plants.add(plant(1n))).toBe('deleted');
    expect(await store.purge()).toBe(2);
    expect(await store.plants.add(plant(1n, 'another'))).toBe('created');
    expect(await ids()).toEqual([1n, 2n]);
  });

  test('forgets no younger ones than it shall, or only the one with the id, if that is deleted', async () => {
    await store.add(MIN_INT64, 2n, 3n);
    await store.remove(MIN_INT64, 2n);
    expect(await store.purge({ minAge: 60 })).toBe(0);
    expect(await store.purge({ id: 3n })).toBe(0);
    expect(await store.purge({ id: MIN_INT64 })).toBe(1);
    expect(await store.plants.find(MIN_INT64)).toBeUndefined();
    expect(await store.plants.find(2n)).toBe('deleted');
  });

  test('finds them all, however many there are, in transactions of at most 500', async () => {
    const many = Array.from({ length: 1_201 }, (_, n) => BigInt(n));
    await store.add(...many);
    await Promise.all(many.map((id) => store.plants.remove(id)));
    expect(await Array.fromAsync(plantPurge(store.file)({ minAge: 0, id: undefined }, false))).toEqual([500, 500, 201]);
  });

  test('ends the positions before the last of what it has forgotten, in whatever order, and no others', async () => {
    await store.add(1n, 2n, 3n, 4n);
    const { next: before } = await readToEnd(store.plants);
    await store.remove(4n, 2n);
    const { next: after } = await readToEnd(store.plants);
    expect(await store.purge({ id: 2n })).toBe(1);
    await expect(readPage(store.plants, before)).rejects.toMatchObject(expired);
    expect(await store.purge({ id: 4n })).toBe(1);
    await store.add(5n);
    expect((await readToEnd(store.plants, after)).changes).toEqual([plant(5n)]);
    await expect(readPage(store.plants, before)).rejects.toMatchObject(expired);
  });

  test('of the newest change gives its number to no other', async () => {
    await store.add(1n);
    await store.remove(1n);
    const { next } = await readToEnd(store.plants);
    await store.purge();
    await store.add(2n);
    expect((await readToEnd(store.plants, next)).changes).toEqual([plant(2n)]);
  });

  test('lets a walk that began after it come to its end, also if another one then forgets less', async () => {
    await store.add(1n, 2n, 3n);
    await store.remove(3n, 2n);
    await store.purge({ id: 2n });
    const { next } = await readPage(store.plants, undefined, 1);
    expect((await readToEnd(store.plants, next)).changes).toEqual([deletion(3n)]);
    await store.purge({ id: 3n });
    expect((await readToEnd(store.plants, next)).changes).toEqual([]);
  });
});

test('a position of another file, of one that was set back, or from before a renewed identity has expired', async () => {
  await store.add(1n);
  const { next } = await readToEnd(store.plants);
  const other = embeddedPlants(await openEmbedded());
  await expect(readPage(other, next)).rejects.toMatchObject(expired);
  await renewFeed(store.file);
  await expect(readPage(store.plants, next)).rejects.toMatchObject(expired);
});

test('ends waits when the service stops, and at once for those who come later', async () => {
  const { next } = await readToEnd(store.plants);
  const waiting = readPage(store.plants, next, 10, 60_000);
  store.plants.stopWaiting();
  expect(await waiting).toMatchObject({ changes: [], next });
  expect(await readPage(store.plants, next, 10, 60_000)).toMatchObject({ changes: [], next });
});

test('finds names in either normal form, with accents that matter', async () => {
  const [composed, decomposed] = ['Érable', 'E\u0301rable'];
  await store.plants.add({ id: 1n, name: composed });
  await store.plants.add({ id: 2n, name: decomposed });
  await store.plants.add({ id: 3n, name: 'Erable' });
  for (const [name, found] of [
    ['érab', [1n, 2n]],
    ['e\u0301RAB', [1n, 2n]],
    ['erab', [3n]],
  ] as const) {
    const { plants } = await store.plants.scan({ from: 0n, to: 9n, name }, 10);
    expect([name, plants.map(({ id }) => id)]).toEqual([name, found]);
  }
});
