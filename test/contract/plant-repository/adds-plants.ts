import { describe, expect, test } from '@jest/globals';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { many } from '../../support/plants/plant-lines.ts';
import { type Open, opened } from './subject.ts';

const plant = (id: bigint, name: string): NewPlant => ({ id, name });

export function addsPlants(open: Open): void {
  describe('adding a plant', () => {
    const { plants } = opened(open);

    test('tells a new plant from a stored one, which it leaves untouched', async () => {
      const first = { id: 50n, name: 'Ficus carica', tag: 'fruit' };
      expect(await plants.add(first)).toBe('created');
      expect(await plants.add({ id: 50n, name: 'Ficus elastica' })).toEqual(first);
      expect(await plants.add({ ...first })).toEqual(first);
      expect(await plants.find(50n)).toEqual(first);
    });
  });

  describe('adding a list', () => {
    const { plants, addAll, all } = opened(open);

    test.each([false, true])('says what each id had, and replaces other plants if it shall: %s', async (replaces) => {
      const first = replaces ? 10n : 0n;
      const [one, two, three, four] = [first + 1n, first + 2n, first + 3n, first + 4n];
      await addAll([plant(one, 'same'), plant(two, 'other'), plant(three, 'deleted')]);
      await plants.remove(three);
      const list = [plant(one, 'same'), plant(two, 'new'), plant(three, 'deleted'), plant(four, 'new')];
      const before = [list[0], plant(two, 'other'), 'deleted', undefined];
      expect(await plants.addAll(list, replaces)).toEqual(before);
      expect(await plants.find(two)).toEqual(plant(two, replaces ? 'new' : 'other'));
    });

    test('adds more plants than a statement has, and none', async () => {
      const list = many(1_000).map((each) => ({ ...each, id: each.id + 1_000n }));
      expect(await plants.addAll(list, false)).toEqual(list.map(() => undefined));
      expect(await plants.addAll(list, true)).toEqual(list);
      expect(await all({ from: 1_000n, to: 1_999n })).toEqual(list);
      expect(await plants.addAll([], true)).toEqual([]);
    });
  });
}
