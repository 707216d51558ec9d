import { describe, expect, test } from '@jest/globals';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { type Open, opened } from './subject.ts';

/** Letters in either case, one by one: a sigma at the end of a word is one in it, too. */
const folded = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');
const isNamed = ({ name }: NewPlant, text: string) => folded(name).includes(folded(text));

export function searchesPlants(open: Open): void {
  describe('searching', () => {
    const { plants, addAll, all } = opened(open);

    test('finds a text in names, letters in either case, other characters as they are', async () => {
      const names = [
        'Ficus 100% "a_b"',
        'FICUS \\ {x} %s $1 ?',
        'Sci\nfi cus',
        '\u20AC \u{1F33F} ficu',
        'a',
        '',
        "it's (fi|cus)*",
        'ΚΥΠΑΡΙΣΣΟΣ',
        `ΚΥΠΑΡΙΣ${'\u0301'.repeat(100_000)}${'\u0323'.repeat(100_000)}`,
      ];
      const stored = names.map((name, n) => ({ id: 9_000n + BigInt(n), name }));
      await addAll(stored);
      const within = { from: 9_000n, to: 9_099n };
      const texts = [...'%_\\"\'\n ', 'ficus', 'FI', '%a', 'A_B', '\u20AC \u{1F33F} F', '(fi|', '$1', '.*', 'ΚΥΠΑΡΙΣ'];
      for (const name of [...texts, ...names.slice(0, 5), 'ficus'.repeat(20)]) {
        const found = await all({ ...within, name }, 100);
        expect([name, found]).toEqual([name, stored.filter((each) => isNamed(each, name))]);
      }
    });

    test('a search gives each plant with the text once, whatever the size of its batches', async () => {
      const nameOf = (n: number) =>
        [`Wanted ${n}`, 'other', 'wanted', 'x'.repeat(n % 11 === 0 ? 700_000 : 10)][n % 4] ?? '';
      const stored = Array.from({ length: 40 }, (_, n): NewPlant => {
        const tag = n % 3 > 0 ? `tag ${n % 3}` : undefined;
        return { id: 50_000n + BigInt(n), name: nameOf(n), ...(tag !== undefined && { tag }) };
      });
      await addAll(stored);
      const [deleted, kept] = [stored.filter((_, n) => n % 5 === 0), stored.filter((_, n) => n % 5 > 0)];
      for (const { id } of deleted) await plants.remove(id);
      const wanted = kept.filter((each) => isNamed(each, 'wanted'));
      for (const tag of [undefined, 'tag 1']) {
        const tagged = wanted.filter((each) => tag === undefined || each.tag === tag);
        for (const count of [1, 3, 100]) {
          const range = { from: 50_000n, to: 50_099n, name: 'wANTED', tag };
          expect(await all(range, count)).toEqual(tagged);
        }
      }
    });

    test('searches to either end of int64, though it looks at no more plants in one part', async () => {
      // As many as are looked at in one, on SQLite and on Postgres.
      for (const count of [1_000n, 2_000n]) {
        const [low, high] = [MIN_INT64 + count - 1n, MAX_INT64 - count + 1n];
        await addAll(
          Array.from({ length: Number(count) }, (_, n) => ({ id: MIN_INT64 + BigInt(n), name: 'searched' })),
        );
        await addAll(
          Array.from({ length: Number(count) }, (_, n) => ({ id: MAX_INT64 - BigInt(n), name: 'searched' })),
        );
        expect(await all({ from: high, to: MAX_INT64, name: 'none' }, 2_000)).toEqual([]);
        expect(await all({ from: MIN_INT64, to: low, order: 'desc', name: 'none' }, 2_000)).toEqual([]);
      }
    });
  });
}
