import { describe, expect, test } from '@jest/globals';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { type Open, opened } from './subject.ts';

/** Letters in either case, one by one: a sigma at the end of a word is one in it, too. */
const folded = (text: string) => text.toLowerCase().replaceAll('ς', 'σ');
const isNamed = ({ name }: NewPlant, text: string) => folded(name).includes(folded(text));

export function searchesPlants(open: Open): void {
  describe('searching', () => {
    const { addAll, all } = opened(open);

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

    test('searches to either end of int64, though it looks at no more plants in one part', async () => {
      // As many as are looked at in one, on SQLite and on Postgres.
      for (const count of [1_000n, 2_000n]) {
        const [low, high] = [MIN_INT64 + count - 1n, MAX_INT64 - count + 1n];
        const offsets = Array.from({ length: Number(count) }, (_, n) => BigInt(n));
        const ids = offsets.flatMap((offset) => [MIN_INT64 + offset, MAX_INT64 - offset]);
        await addAll(ids.map((id) => ({ id, name: 'searched' })));
        expect(await all({ from: high, to: MAX_INT64, name: 'none' }, 2_000)).toEqual([]);
        expect(await all({ from: MIN_INT64, to: low, order: 'desc', name: 'none' }, 2_000)).toEqual([]);
      }
    });
  });
}
