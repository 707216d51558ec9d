import { describe, expect, test } from '@jest/globals';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { deletion, readPage, readToEnd } from '../../support/plants/changes.ts';
import { is } from '../../support/plants/unchecked-plants.ts';
import { ODD } from './odd-texts.ts';
import { type Open, opened } from './subject.ts';

export function followsChanges(open: Open): void {
  describe('following the changes', () => {
    const { plants, addAll } = opened(open);
    let last: string | undefined;
    /** The end of the feed. */
    async function now(): Promise<string> {
      last = (await readToEnd(plants, last)).next;
      return last;
    }
    const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });

    test('reads the newest state of each plant once, in the order of their last changes', async () => {
      const start = await now();
      const all = [205n, 201n, 203n, 202n, MIN_INT64 + 1n, MAX_INT64 - 1n].map((id) => ({
        ...plant(id),
        tag: `${id}`,
      }));
      all.push(...ODD.map((text, n) => ({ id: 9_007_199_254_740_993n + BigInt(n), name: text, tag: text })));
      for (const each of all) await plants.add(each);
      const read = await readToEnd(plants, start);
      expect(read.changes).toEqual(all);

      await plants.replace(plant(201n, 'changed'));
      await plants.replace(plant(203n, 'changed'));
      await plants.replace(plant(201n, 'changed again'));
      await plants.remove(202n);
      const after = [plant(203n, 'changed'), plant(201n, 'changed again'), deletion(202n)];
      expect((await readToEnd(plants, read.next)).changes).toEqual(after);
      expect((await readToEnd(plants, start)).changes).toEqual([all[0], ...all.slice(4), ...after]);
    });

    test('makes no entry for what changes nothing and what was refused', async () => {
      await addAll([plant(240n), plant(241n)]);
      await plants.remove(241n);
      const start = await now();
      await plants.add(plant(240n));
      await plants.add(plant(240n, 'another'));
      await plants.add(plant(241n));
      await plants.replace(plant(240n));
      await plants.replace(plant(240n), is(plant(240n)));
      await plants.replace(plant(240n, 'new'), is(plant(240n, 'another')));
      await plants.replace(plant(241n, 'new'));
      await plants.replace(plant(242n));
      await plants.remove(241n);
      await plants.remove(242n);
      await plants.remove(240n, is(plant(240n, 'another')));
      expect(await readToEnd(plants, start)).toEqual({ changes: [], next: start });
    });

    test('waits for a change until there is one, time is over, or nobody waits any more', async () => {
      const start = await now();
      const nothing = { changes: [], next: start, atEnd: true };
      expect(await readPage(plants, start, 10, 5)).toEqual(nothing);
      expect(await readPage(plants, start, 10, 60_000, AbortSignal.abort())).toEqual(nothing);
      const leaving = new AbortController();
      const left = readPage(plants, start, 10, 60_000, leaving.signal);
      leaving.abort();
      expect(await left).toEqual(nothing);

      const woken = readPage(plants, start, 10, 60_000);
      await plants.add(plant(600n));
      expect((await woken).changes).toEqual([plant(600n)]);
      // It is there already.
      expect((await readPage(plants, start, 10, 60_000)).changes).toEqual([plant(600n)]);
    });

    test.each(['', 'next', 'A'.repeat(1024 ** 2)])('refuses "%.5s" as a position', async (after) => {
      await expect(readPage(plants, after, 1)).rejects.toMatchObject({ code: 'unknown_position' });
    });
  });
}

export function refusesToFollow(open: Open): void {
  describe('following the changes', () => {
    const { plants } = opened(open);

    test('refuses to, and says why', async () => {
      await expect(readPage(plants, undefined)).rejects.toMatchObject({ code: 'changes_unavailable' });
    });
  });
}
