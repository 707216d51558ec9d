import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { many } from '../../support/plants/plant-lines.ts';
import { LONG, ODD } from './odd-texts.ts';
import { type Open, opened } from './subject.ts';

function plant(id: bigint, tag?: string): NewPlant {
  return { id, name: `plant ${id}`, ...(tag !== undefined && { tag }) };
}

export function listsPlants(open: Open): void {
  describe('finding, listing and counting', () => {
    const { plants, instance, addAll, walk, all: allOf } = opened(open);

    test('finds any plant, and reads any range in either order, in the whole of int64', async () => {
      const tags = [undefined, 'odd', '', 'even', 'Odd', 'odd ', 'null'];
      const starts = [MIN_INT64, -10n, 2n ** 53n, MAX_INT64 - 76n];
      const added = starts.flatMap((start) =>
        Array.from({ length: 20 }, (_, n) => plant(start + 4n * BigInt(n), tags[n % tags.length])),
      );
      await addAll(added);
      const deleted = new Set(added.filter((_, n) => n % 5 === 0).map(({ id }) => id));
      for (const id of deleted) await plants.remove(id);
      const all = added.filter(({ id }) => !deleted.has(id));
      const range = fc.record({
        start: fc.constantFrom(...starts),
        within: fc.tuple(fc.bigInt(0n, 76n), fc.bigInt(0n, 76n)),
        tag: fc.constantFrom(...tags, undefined, undefined, 'none', 'undefined'),
        name: fc.constantFrom(undefined, undefined, 'Plant ', '2', 'T -', 'none'),
        order: fc.constantFrom('asc' as const, 'desc' as const),
      });
      const property = fc.asyncProperty(range, fc.integer({ min: 1, max: 25 }), async (drawn, count) => {
        const { start, within, tag, name, order } = drawn;
        const [from, to] = [start + within[0], start + within[1]];
        const found = (order === 'desc' ? all.toReversed() : all)
          .filter((each) => each.id >= from && each.id <= to && (tag === undefined || each.tag === tag))
          .filter((each) => name === undefined || each.name.includes(name.toLowerCase()));
        const batches = await walk({ from, to, tag, name, order }, count);
        expect(batches.flat()).toEqual(found);
        expect(batches.every(({ length }) => length <= count)).toBe(true);
        expect(await plants.find(from)).toEqual(deleted.has(from) ? 'deleted' : all.find(({ id }) => id === from));
      });
      await fc.assert(property, { numRuns: 60 });
    });

    test('reads each name and tag that JSON, SQL or a reader may treat differently', async () => {
      const texts = [...ODD, ...LONG];
      const all = texts.flatMap((text, n): NewPlant[] => {
        const id = 20_000n + 4n * BigInt(n);
        return [
          { id, name: text },
          { id: id + 1n, name: text, tag: text },
          { id: id + 2n, name: '', tag: `${text}7` },
          { id: id + 3n, name: `${text}-7,` },
        ];
      });
      await addAll(all);
      const range = { from: 20_000n, to: 20_999n };
      expect(await allOf(range, 2_000)).toEqual(all);
      for (const tag of texts) {
        const tagged = all.filter((each) => each.tag === tag);
        expect(await allOf({ ...range, tag }, 100)).toEqual(tagged);
        for (const each of tagged) expect(await plants.find(each.id)).toEqual(each);
      }
    });

    test('lists the plants behind 6,000 deleted ones, and none behind the largest id', async () => {
      const first = 100_000n;
      const deleted = [...Array.from({ length: 6_000 }, (_, n) => first + BigInt(n)), MAX_INT64];
      const small = [6_000n, 6_001n, 6_002n].map((n): NewPlant => ({ id: first + n, name: 'behind', tag: 'behind' }));
      const large = { id: first + 6_003n, name: 'large'.repeat(1_000), tag: 'behind' };
      await addAll([...deleted.map((id) => ({ id, name: '', tag: 'behind' })), ...small]);
      // In portions: each of them on Citus is a statement, and all at once would take longer than one may wait.
      for (let start = 0; start < deleted.length; start += 3_000) {
        await Promise.all(deleted.slice(start, start + 3_000).map((id, n) => instance(n).remove(id)));
      }
      for (const behind of [small, [large]]) {
        await addAll(behind);
        await Promise.all(small.filter((each) => !behind.includes(each)).map(({ id }) => plants.remove(id)));
        for (const [count, tag] of [[1], [1, 'behind'], [2], [2_000], [2_000, 'behind']] as const) {
          expect(await allOf({ from: first, to: first + 6_003n, tag }, count)).toEqual(behind);
        }
      }
      expect(await allOf({ from: first, to: first + 5_999n }, 5)).toEqual([]);
      expect(await plants.list({ from: MAX_INT64, to: MAX_INT64 }, 5)).toEqual({ plants: [], next: undefined });
    });

    test('a list is the last one if no plant is behind it, though deleted ones are', async () => {
      const ids = Array.from({ length: 10 }, (_, n) => 1_000_000n + BigInt(n));
      await addAll(ids.map((id) => ({ id, name: 'soon deleted' })));
      await Promise.all(ids.slice(2).map((id) => plants.remove(id)));
      for (const count of [2, 10]) {
        const { plants: left, next } = await plants.list({ from: 1_000_000n, to: 2_000_000n }, count);
        expect([left.length, next]).toEqual([2, undefined]);
      }
    });

    test('counts the plants of a range with a tag or a text, up to a number', async () => {
      const first = 500_000n;
      await addAll(many(30).map((each, n) => ({ ...each, id: first + BigInt(n), tag: `${n % 3}` })));
      await plants.remove(first);
      const range = { from: first, to: first + 29n };
      expect(await plants.count(range, 100)).toEqual({ count: 29, isExact: true });
      expect(await plants.count(range, 29)).toEqual({ count: 29, isExact: true });
      expect(await plants.count(range, 28)).toEqual({ count: 28, isExact: false });
      expect(await plants.count({ ...range, tag: '0' }, 100)).toEqual({ count: 9, isExact: true });
      expect(await plants.count({ ...range, name: 'PLANT 1' }, 100)).toEqual({ count: 11, isExact: true });
      expect(await plants.count({ ...range, tag: 'none' }, 100)).toEqual({ count: 0, isExact: true });
    });
  });
}
