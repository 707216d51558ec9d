import { describe, expect, test } from '@jest/globals';
import { MIN_INT64, type NewPlant } from '../../../src/domain/plant.ts';
import { forEachTest } from '../../support/lifetimes.ts';
import { deletion, readPage, readToEnd } from '../../support/plants/changes.ts';
import type { Open } from './subject.ts';

/** @param hour a statement's interval */
export function purgesPlants(open: Open, hour: string): void {
  describe('purging', () => {
    const own = forEachTest(open);
    const first = forEachTest(async () => own.instances[0]);
    const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });
    const add = (...ids: readonly bigint[]) => Promise.all(ids.map((id) => first.add(plant(id))));
    const remove = async (...ids: readonly bigint[]) => {
      for (const id of ids) await first.remove(id);
    };
    /** @returns how many it has forgotten, or would */
    async function purge({ minAge = 0, id = undefined as bigint | undefined, isDryRun = false } = {}): Promise<number> {
      let total = 0;
      for await (const count of own.purge?.({ minAge, id }, isDryRun) ?? []) total += count;
      return total;
    }
    const walk = (after?: string) => readToEnd(first, after, 1);
    const expired = { code: 'cursor_expired' };

    test('only counts deleted plants in a dry run, and frees their ids otherwise', async () => {
      await add(1n, 2n, 3n);
      await remove(1n, 2n);
      expect(await purge({ isDryRun: true })).toBe(2);
      expect(await first.add(plant(1n, 'new'))).toBe('deleted');
      expect(await purge()).toBe(2);
      expect(await purge()).toBe(0);
      expect(await first.find(1n)).toBeUndefined();
      expect(await first.add(plant(1n, 'new'))).toBe('created');
      expect(await own.all()).toEqual(expect.arrayContaining([plant(1n, 'new'), plant(3n)]));
      expect((await walk()).changes).toEqual([plant(3n), plant(1n, 'new')]);
    });

    test('forgets none younger than it shall, or only the one with the id', async () => {
      await add(MIN_INT64, 2n, 3n, 4n);
      await remove(MIN_INT64, 2n, 3n);
      await own.query?.(`update plants set deleted = deleted - ${hour} where id = ${MIN_INT64}`);
      expect(await purge({ minAge: 3_660 })).toBe(0);
      expect(await purge({ minAge: 3_599 })).toBe(1);
      expect(await purge({ id: 4n })).toBe(0);
      expect(await purge({ id: 5n })).toBe(0);
      expect(await purge({ id: 2n, isDryRun: true })).toBe(1);
      expect(await purge({ id: 2n })).toBe(1);
      const found = await Promise.all([MIN_INT64, 2n, 3n, 4n].map((id) => first.find(id)));
      expect(found).toEqual([undefined, undefined, 'deleted', plant(4n)]);
    });

    test('ends the positions before the last of what it has forgotten, and no others', async () => {
      await add(1n, 2n, 3n);
      await remove(1n);
      const before = (await walk()).next;
      await remove(2n);
      const [early, after] = [(await readPage(first, undefined, 1)).next, (await walk()).next];
      await add(4n);
      for (const id of [2n, 1n]) expect(await purge({ id })).toBe(1);
      // Who is at these does not know that 2 is gone.
      for (const position of [before, early]) {
        await expect(readPage(first, position)).rejects.toMatchObject(expired);
      }
      expect((await walk(after)).changes).toEqual([plant(4n)]);
    });

    test('lets a walk that began after it come to its end', async () => {
      await add(1n, 2n, 3n, 4n);
      await remove(4n, 3n);
      await purge({ id: 3n });
      expect((await walk()).changes).toEqual([plant(1n), plant(2n), deletion(4n)]);
      const began = await readPage(first, undefined, 1);
      await purge({ id: 4n });
      expect((await walk(began.next)).changes).toEqual([plant(2n)]);
    });
  });
}
