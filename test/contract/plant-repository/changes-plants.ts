import { describe, expect, test } from '@jest/globals';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { is } from '../../support/plants/unchecked-plants.ts';
import { type Open, opened } from './subject.ts';

export function changesPlants(open: Open): void {
  describe('changing and deleting plants', () => {
    const { subject, plants, instance, addAll, all } = opened(open);
    const old = (id: bigint): NewPlant => ({ id, name: 'Ficus', tag: 'old' });

    test.each<[string, bigint, Partial<NewPlant>]>([
      ['its name', 1n, { name: 'Ficus carica', tag: 'old' }],
      ['its tag', 2n, { name: 'Ficus', tag: 'new' }],
      ['its tag with the empty one', 3n, { name: 'Ficus', tag: '' }],
      ['its tag with none', 4n, { name: 'Ficus' }],
      ['both', MIN_INT64, { name: '\uFEFFFicus \u{1F33F}"\\', tag: '\n' }],
      ['both with empty texts', MAX_INT64, { name: '', tag: '' }],
    ])('changes %s, and resolves to the new record', async (_what, id, content) => {
      const plant = { id, name: '', ...content };
      await plants.add(old(id));
      expect(await plants.replace(plant)).toEqual(plant);
      for (const each of subject.instances) expect(await each.find(id)).toEqual(plant);
      expect(await plants.replace(old(id), is(plant))).toEqual(old(id));
      expect((await subject.all()).filter((each) => each.id === id)).toEqual([old(id)]);
    });

    test('a removal resolves to the deletion, again and again, and lists the plant no more', async () => {
      await addAll([old(100n), old(101n)]);
      expect(await plants.remove(100n, is(old(100n)))).toBe('deleted');
      for (const each of subject.instances) {
        for (const condition of [undefined, is(old(100n))]) expect(await each.remove(100n, condition)).toBe('deleted');
        expect(await each.find(100n)).toBe('deleted');
        const range = { from: 100n, to: 101n };
        expect(await each.list(range, 10)).toEqual({ plants: [old(101n)], next: undefined });
        expect((await each.list({ ...range, tag: 'old' }, 10)).plants).toEqual([old(101n)]);
        expect((await each.list({ ...range, tag: '' }, 10)).plants).toEqual([]);
      }
      expect(await subject.all()).not.toContainEqual(expect.objectContaining({ id: 100n }));
    });

    test('deletes 600 at once, some of them twice and some that are not there', async () => {
      const ids = Array.from({ length: 600 }, (_, n) => 1_000n + BigInt(n));
      await addAll(ids.filter((id) => id % 3n > 0n).map(old));
      const removed = await Promise.all([...ids, ...ids.toReversed()].map((id, n) => instance(n).remove(id)));
      const outcome = (id: bigint) => (id % 3n > 0n ? 'deleted' : undefined);
      expect(removed).toEqual([...ids, ...ids.toReversed()].map(outcome));
      expect(await all({ from: 1_000n, to: 1_599n })).toEqual([]);
    });
  });
}
