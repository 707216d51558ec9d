import { describe, expect, test } from '@jest/globals';
import type { Tags } from '../../../src/application/ports.ts';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { readToEnd } from '../../support/plants/changes.ts';
import { LONG, ODD } from './odd-texts.ts';
import { type Open, opened } from './subject.ts';

/** @param openAlone where nothing holds back the feed */
export function listsTags(open: Open, openAlone: Open, isOrdered: boolean): void {
  describe('listing tags', () => {
    const { plants: store } = opened(open);
    const longer = opened(openAlone);
    const everything = { from: MIN_INT64, to: MAX_INT64 };

    test('gives each tag once in the order of UTF-8, with the number of its plants', async () => {
      if (!isOrdered) {
        return expect(store.tags(undefined, 1)).rejects.toMatchObject({ code: 'tags_unavailable' });
      }
      const counts: Record<string, number> = {
        '': 2,
        ...Object.fromEntries([...ODD, ...LONG].map((tag) => [tag, 1])),
      };
      Object.assign(counts, { frequent: 1_001, thousand: 1_000, gone: 0 });
      for (let n = 0; n < 40; n++) counts[`small ${n}`] = 1 + (n % 3);
      let id = 0n;
      const all = Object.entries(counts).flatMap(([tag, count]) =>
        Array.from({ length: count }, () => ({ id: id++, name: 'tagged', tag })),
      );
      await Promise.all(all.map((each) => store.add(each)));
      await store.add({ id: id++, name: 'without a tag' });
      await store.add({ id, name: 'deleted', tag: 'gone' });
      await store.remove(id);
      const expected = Object.entries(counts)
        .filter(([, count]) => count > 0)
        .map(([tag, count]) => ({ tag, count: Math.min(count, 1_000), isExact: count <= 1_000 }));
      async function walkTags(count: number, after?: string): Promise<Tags['tags']> {
        const { tags, next } = await store.tags(after, count);
        expect(tags.length).toBeLessThanOrEqual(count);
        return next === undefined ? tags : [...tags, ...(await walkTags(count, next))];
      }
      const byTag = (a: { tag: string }, b: { tag: string }) => Buffer.compare(Buffer.from(a.tag), Buffer.from(b.tag));
      for (const count of [1, 7, 1_000]) expect(await walkTags(count)).toEqual(expected.sort(byTag));
    });

    test('serves longer texts of earlier versions, but leaves such a tag out of the others', async () => {
      const longOf = (n: number) =>
        n % 2 ? { name: 'x', tag: 'y'.repeat(3_000 + n) } : { name: `${n}`.repeat(1024 ** 2), tag: 'short' };
      const all = Array.from({ length: 30 }, (_, n): NewPlant => ({ id: BigInt(n), ...longOf(n) }));
      await Promise.all(all.map((each) => longer.plants.add(each)));
      expect(await longer.all(everything, 20)).toEqual(all);
      expect(await longer.all({ ...everything, name: '2222' }, 20)).toEqual(
        all.filter((each) => each.name.includes('2222')),
      );
      if (isOrdered) {
        expect((await longer.plants.tags(undefined, 100)).tags).toEqual([{ tag: 'short', count: 15, isExact: true }]);
        expect((await readToEnd(longer.plants)).changes).toHaveLength(30);
      }
      expect(await longer.plants.replace({ id: 1n, name: 'short' })).toEqual({ id: 1n, name: 'short' });
      for (const { id } of all)
        expect([await longer.plants.remove(id), await longer.plants.find(id)]).toEqual(['deleted', 'deleted']);
    });
  });
}
