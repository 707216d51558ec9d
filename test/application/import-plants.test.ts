import { describe, expect, test } from '@jest/globals';
import type { Written } from '../../src/application/ports.ts';
import { type Ports, useCases } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { many } from '../support/plants/plant-lines.ts';

/** Use cases on what is stored, of which the import counts its calls. */
function setUp(given: readonly (readonly [bigint, NewPlant | 'deleted'])[] = [], own: Partial<Ports> = {}) {
  const stored = new Map(given);
  const cases = useCases({ ...fakePlants(stored), ...own });
  const run = async (list: readonly NewPlant[], replaces = false) =>
    (await cases.importPlants(list, { replaces })).outcomes;
  return { stored, ...cases, run };
}

const plant = (id: number, name: string): NewPlant => ({ id: BigInt(id), name });

describe('of plants with one id', () => {
  const list = [plant(1, 'a'), plant(2, 'x'), plant(1, 'a'), plant(1, 'b'), plant(1, 'b'), plant(1, 'd')];

  /** What it would be if each was sent alone. */
  async function oneByOne(given: NewPlant | 'deleted' | undefined, replaces: boolean) {
    const { run, stored } = setUp(given ? [[1n, given]] : []);
    const outcomes = [];
    for (const each of list) outcomes.push(...(await run([each], replaces)));
    return { outcomes, stored: stored.get(1n) };
  }

  test.each([undefined, plant(1, 'a'), plant(1, 'b'), plant(1, 'c'), 'deleted'] as const)(
    'where %j is, the outcome is as if each came alone, also where they replace',
    async (given) => {
      for (const replaces of [false, true]) {
        const { run, stored } = setUp(given ? [[1n, given]] : []);
        const outcomes = await run(list, replaces);
        expect({ outcomes, stored: stored.get(1n) }).toEqual(await oneByOne(given, replaces));
      }
    },
  );
});

/** A store whose lists have their outcomes when the test says so, and the lists that it was given. */
function slowStore() {
  const lists: { readonly size: number; readonly isBackground: boolean | undefined; end(error?: Error): void }[] = [];
  const write: Ports['write'] = async (writes, isBackground) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    lists.push({ size: writes.length, isBackground, end: (error) => (error ? reject(error) : resolve()) });
    const outcomes = fakePlants().write(writes);
    return writes.map(async (_write, index) => {
      // One fails early, and the others are still under way.
      if (index > 0) await promise.catch(() => {});
      else await promise;
      return (await outcomes)[index] as Written;
    });
  };
  return { write, lists };
}

test('gives the store 256 plants at a time, in the background', async () => {
  const { write, lists } = slowStore();
  const { run } = setUp([], { write });
  const importing = run(many(600));
  for (let count = 1; count <= 3; count++) {
    while (lists.length < count) await new Promise(setImmediate);
    lists.at(-1)?.end();
  }
  expect(await importing).toHaveLength(600);
  expect(lists).toMatchObject([256, 256, 88].map((size) => ({ size, isBackground: true })));
});

describe('ends', () => {
  test.each([new PlantStoreError('store_unavailable', 'later'), new TypeError('a defect')])(
    'when an outcome is not known (%s), and begins no more',
    async (error) => {
      const { write, lists } = slowStore();
      const importing = setUp([], { write }).run(many(5_000));
      lists[0]?.end(error);
      await expect(importing).rejects.toBe(error);
      expect(lists).toHaveLength(1);
    },
  );
});
