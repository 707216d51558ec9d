import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { readsInParts } from '../../../../src/adapters/sql/reads/reads-in-parts.ts';
import type { PlantBatch, PlantRange } from '../../../../src/application/ports.ts';
import { embeddedPlants, openEmbedded } from '../../../support/embedded-store.ts';
import { fakePlants } from '../../../support/fake-plants.ts';
import { many } from '../../../support/plants/plant-lines.ts';

/* How reads go on part after part: lists and counts on plants in memory and a clock of the test. */

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const all = { from: 0n, to: 999_999n };

/** Reads of so many plants, which look at three of them in a part, for so many milliseconds. */
function setUp(count: number, pause = 0) {
  const fake = fakePlants(new Map(many(count).map((plant) => [plant.id, plant])));
  async function plants({ from, ...range }: PlantRange, most: number): Promise<PlantBatch> {
    jest.advanceTimersByTime(pause);
    const batch = await fake.list({ ...range, from, to: from + 2n }, most);
    return { ...batch, next: batch.next ?? (from + 2n < BigInt(count - 1) ? from + 2n : undefined) };
  }
  async function number(range: PlantRange, most: number) {
    const { plants: counted, next } = await plants(range, most);
    return { count: counted.length, next };
  }
  return readsInParts({ plants, count: number });
}

test('a search is read to the last plant that is wanted, and not for one more', async () => {
  const named = many(40).filter(({ name }) => name.includes('plant 1'));
  const list = (count: number) => setUp(40).list({ ...all, name: 'PLANT 1' }, count);
  expect(await list(3)).toEqual({ plants: named.slice(0, 3), next: 11n });
  expect(await list(100)).toEqual({ plants: named, next: undefined });
});

test('all end early after a second, behind all that was looked at', async () => {
  const { list, count } = setUp(40, 300);
  expect(await list({ ...all, name: 'plant 2' }, 10)).toEqual({ plants: [many(3)[2]], next: 11n });
  expect(await list({ ...all, name: 'none' }, 10)).toEqual({ plants: [], next: 11n });
  expect(await count(all, 30)).toEqual({ count: 12, isExact: false });
});

test('all end early when nobody wants them any more, and a list at 2,000 plants', async () => {
  const { list, count } = setUp(5_000);
  const gone = AbortSignal.abort();
  expect(await list(all, 100, gone)).toEqual({ plants: many(3), next: 2n });
  expect(await count(all, 100, gone)).toEqual({ count: 3, isExact: false });
  expect(await list(all, Number.POSITIVE_INFINITY)).toEqual({ plants: many(2_000), next: 1_999n });
  jest.useRealTimers();
  const store = embeddedPlants(await openEmbedded());
  await store.addAll(
    many(100).map((plant) => ({ ...plant, tag: plant.name })),
    false,
  );
  expect((await store.tags(undefined, 100, gone)).tags).toHaveLength(16);
  expect((await store.tags(undefined, 100)).tags).toHaveLength(100);
});
