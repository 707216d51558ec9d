import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_INT64, MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { applyTo, deletion, readPage, readToEnd, sorted } from '../../support/plants/changes.ts';
import { is } from '../../support/plants/unchecked-plants.ts';
import { ODD } from './odd-texts.ts';
import { type Open, opened } from './subject.ts';

export function followsChanges(open: Open): void {
  describe('following the changes', () => {
    const { subject, plants, instance, addAll, all: listed } = opened(open);
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

    test('begins at its end with now, and then has what is committed later', async () => {
      await plants.add(plant(207n));
      const { changes, next } = await readPage(plants, 'now', 10, 60_000);
      expect(changes).toEqual([]);
      await plants.remove(207n);
      await plants.add(plant(208n));
      expect((await readToEnd(plants, next)).changes).toEqual([deletion(207n), plant(208n)]);
    });

    test('reads the same from every instance, with the cursors of any other', async () => {
      const start = await now();
      for (let id = 210n; id < 230n; id++) await instance(Number(id)).add(plant(id));
      const expected = (await readToEnd(plants, start)).changes;
      expect(expected).toHaveLength(20);
      for (const each of subject.instances) expect((await readToEnd(each, start, 7)).changes).toEqual(expected);
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
      expect(await readToEnd(plants, start)).toEqual({ changes: [], pages: [], next: start });
    });

    test('brings any consumer to what is stored, whatever happens between its pages', async () => {
      let next: string = await now();
      const copy = new Map<bigint, NewPlant>();
      const action = fc.record({
        kind: fc.constantFrom('add', 'replace', 'remove', 'read', 'read'),
        id: fc.bigInt({ min: 500n, max: 509n }),
        name: fc.constantFrom('a', 'b', 'c'),
        limit: fc.integer({ min: 1, max: 5 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (actions) => {
          for (const { kind, id, name, limit } of actions) {
            if (kind === 'add') await plants.add({ id, name });
            if (kind === 'replace') await plants.replace({ id, name });
            if (kind === 'remove' && id % 3n === 0n) await plants.remove(id);
            if (kind !== 'read') continue;
            const page = await readPage(plants, next, limit);
            applyTo(copy, page.changes);
            next = page.next;
          }
          const end = await readToEnd(plants, next, 3);
          applyTo(copy, end.changes);
          next = end.next;
          const stored = await listed({ from: 500n, to: 509n }, 10);
          expect(sorted(copy.values())).toEqual(stored);
        }),
        { numRuns: 20 },
      );
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
