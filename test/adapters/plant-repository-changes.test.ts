import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { listPlants } from '../../src/application/list-plants.ts';
import type { PlantRange } from '../../src/application/ports.ts';
import { isSamePlant, MAX_INT64, MIN_INT64, type NewPlant } from '../../src/domain/plant.ts';
import { forAllTests, forEachTest } from '../support/lifetimes.ts';
import { applyTo, deletion, readPage, readToEnd, sorted } from '../support/plants/changes.ts';
import { implementations, postgres } from '../support/plants/plant-repositories.ts';
import { ownPostgres } from '../support/servers/own-postgres.ts';

/*
 * What the ports for adding and changing plants and for following the changes promise, held against every
 * implementation. What only a database can show is in postgres/changes/change-feed.full.ts.
 */

// A server of their own: a transaction that other tests leave open would hold back the feed.
const server = forAllTests(() => ownPostgres(['fsync=off']));
const openers = implementations.map(([name, open]) =>
  name === 'Postgres' ? ([name, () => postgres(server.url)] as const) : ([name, open] as const),
);

/** The condition that what is stored is this. */
const is = (expected: NewPlant) => (stored: NewPlant) => isSamePlant(expected, stored);

describe.each(openers)('on %s', (name, open) => {
  const subject = forAllTests(open);
  const plants = forAllTests(async () => subject.instances[0]);

  let last: string | undefined;
  /** The end of the feed. */
  async function now(): Promise<string> {
    last = (await readToEnd(plants, last)).next;
    return last;
  }
  /** The instances in turn. */
  const instance = (n: number) => subject.instances[n % subject.instances.length] ?? plants;
  const addAll = (all: readonly NewPlant[]) => Promise.all(all.map((each, n) => instance(n).add(each)));

  describe('adding a plant', () => {
    const stored = async (id: bigint) => (await subject.all()).filter((each) => each.id === id);

    test('tells a new plant from the record that was there before, which it leaves untouched', async () => {
      const first = { id: 50n, name: 'Ficus carica', tag: 'fruit' };
      expect(await plants.add(first)).toBe('created');
      expect(await plants.add({ id: 50n, name: 'Ficus elastica' })).toEqual(first);
      expect(await plants.add({ ...first })).toEqual(first);
      expect(await stored(50n)).toEqual([first]);
    });

    test('lets exactly one of 40 racing writers with one id win, and tells all of them which', async () => {
      // Four add each object.
      const plants = Array.from({ length: 10 }, (_, n) => ({ id: 51n, name: `writer ${n}`, tag: `${n}` }));
      const seen = await addAll([...plants, ...plants, ...plants, ...plants]);
      const [winner, ...more] = await stored(51n);
      expect(more).toEqual([]);
      const created = seen.flatMap((found, n) => (found === 'created' ? [plants[n % 10]] : []));
      expect(created).toEqual([winner]);
      expect(seen.filter((found) => found !== 'created')).toEqual(Array(39).fill(winner));
    });
  });

  describe('replacing a plant', () => {
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

    test.each([
      ['replaces', (expected: NewPlant) => plants.replace({ id: expected.id, name: 'new' }, is(expected))],
      ['removes', (expected: NewPlant) => plants.remove(expected.id, is(expected))],
    ])('leaves what is there, and resolves to it, if another one is expected: %s', async (_what, change) => {
      const [tagged, untagged] = [old(10n), { id: 11n, name: 'Ficus' }];
      await addAll([tagged, untagged]);
      for (const other of [
        { ...tagged, name: 'ficus' },
        { ...tagged, tag: 'old ' },
        { ...untagged, id: 10n },
      ]) {
        expect(await change(other)).toEqual(tagged);
      }
      expect(await change({ ...untagged, tag: '' })).toEqual(untagged);
      expect(await Promise.all([10n, 11n].map((id) => plants.find(id)))).toEqual([tagged, untagged]);
    });

    test('creates none, and does not bring back a deleted one', async () => {
      await plants.add(old(21n));
      await plants.remove(21n);
      for (const [id, found] of [
        [20n, undefined],
        [21n, 'deleted'],
      ] as const) {
        const empty = { id, name: '' };
        expect(await plants.replace(old(id))).toBe(found);
        expect(await plants.replace(empty, is(empty))).toBe(found);
        expect(await plants.find(id)).toBe(found);
      }
    });

    test('resolves to the same record if it is so already, whatever is expected, which is asked about it, too', async () => {
      await plants.add(old(22n));
      expect(await plants.replace(old(22n))).toEqual(old(22n));
      const asked: NewPlant[] = [];
      for (const isMet of [true, false]) {
        const note = (stored: NewPlant) => asked.push(stored) > 0 && isMet;
        expect(await plants.replace(old(22n), note)).toEqual(old(22n));
        expect(asked.at(-1)).toEqual(old(22n));
        asked.length = 0;
      }
    });

    test('loses no update of 8 clients that each expect what they have read', async () => {
      await plants.add({ id: 31n, name: '0' });
      let successes = 0;
      await Promise.all(
        Array.from({ length: 8 }, async (_, client) => {
          for (let attempt = 0; attempt < 12; attempt++) {
            const found = (await instance(client).find(31n)) as NewPlant;
            const plant = { id: 31n, name: `${Number(found.name) + 1}`, tag: `${client} ${attempt}` };
            const stored = (await instance(client + attempt).replace(plant, is(found))) as NewPlant;
            if (isSamePlant(stored, plant)) successes++;
          }
        }),
      );
      expect(successes).toBeGreaterThanOrEqual(12);
      expect(await plants.find(31n)).toMatchObject({ name: `${successes}` });
    });
  });

  /** Of a range, in as many batches as it takes. */
  async function firstPlants(range: PlantRange, count: number, store = plants): Promise<NewPlant[]> {
    const { plants: found, lastId, isLast } = await store.scan(range, count);
    if (isLast || lastId === undefined || found.length === count) return [...found];
    return [...found, ...(await firstPlants({ ...range, from: lastId + 1n }, count - found.length, store))];
  }

  describe('deleting a plant', () => {
    const plant = (id: bigint): NewPlant => ({ id, name: 'Ficus', tag: 'old' });

    test('resolves to its deletion, again and again, and finds and lists it no more', async () => {
      await addAll([plant(100n), plant(101n)]);
      expect(await plants.remove(100n, is(plant(100n)))).toBe('deleted');
      for (const each of subject.instances) {
        for (const condition of [undefined, is(plant(100n))])
          expect(await each.remove(100n, condition)).toBe('deleted');
        expect(await each.find(100n)).toBe('deleted');
        const range = { from: 100n, to: 101n };
        expect(await firstPlants(range, 10, each)).toEqual([plant(101n)]);
        expect(await firstPlants({ ...range, tag: 'old' }, 10, each)).toEqual([plant(101n)]);
        expect(await firstPlants({ ...range, tag: '' }, 10, each)).toEqual([]);
      }
      expect(await subject.all()).not.toContainEqual(expect.objectContaining({ id: 100n }));
    });

    test('resolves to nothing if there never was one, which can be created then', async () => {
      expect(await plants.remove(110n)).toBeUndefined();
      expect(await plants.remove(110n, is(plant(110n)))).toBeUndefined();
      expect(await plants.add(plant(110n))).toBe('created');
    });

    test('keeps its id taken: neither the same creation, late, nor another one brings it back', async () => {
      await plants.add(plant(120n));
      await plants.remove(120n);
      const empty = { id: 120n, name: '', tag: '' };
      for (const each of [plant(120n), { id: 120n, name: 'another' }, empty, { id: 120n, name: '' }]) {
        expect(await plants.add(each)).toBe('deleted');
      }
      expect(await plants.find(120n)).toBe('deleted');
    });

    test('deletes 600 at once, some of them twice and some that are not there', async () => {
      const ids = Array.from({ length: 600 }, (_, n) => 1_000n + BigInt(n));
      await addAll(ids.filter((id) => id % 3n > 0n).map(plant));
      const removed = await Promise.all([...ids, ...ids.toReversed()].map((id, n) => instance(n).remove(id)));
      const outcome = (id: bigint) => (id % 3n > 0n ? 'deleted' : undefined);
      expect(removed).toEqual([...ids, ...ids.toReversed()].map(outcome));
      expect(await firstPlants({ from: 1_000n, to: 1_599n }, 1_000)).toEqual([]);
    });
  });

  test('lists the plants behind 6,000 deleted ones, small and large, and none behind the largest id', async () => {
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
        expect(await firstPlants({ from: first, to: first + 6_003n, tag }, count)).toEqual(behind.slice(0, count));
      }
    }
    expect(await firstPlants({ from: first, to: first + 5_999n }, 5)).toEqual([]);
    expect(await firstPlants({ from: MAX_INT64, to: MAX_INT64 }, 5)).toEqual([]);
  });

  test('a page that is not full is the last one, though deleted plants follow', async () => {
    const ids = Array.from({ length: 10 }, (_, n) => 1_000_000n + BigInt(n));
    await addAll(ids.map((id) => ({ id, name: 'soon deleted' })));
    await Promise.all(ids.slice(2).map((id) => plants.remove(id)));
    const page = await listPlants(plants, () => 0)({ after: 999_999n, limit: 10 });
    expect([page.first.length, page.next]).toEqual([2, undefined]);
  });

  /** The servers of Citus number their transactions independently. */
  const hasFeed = name !== 'Citus';

  (hasFeed ? test.skip : test)('refuses to follow the changes, and says why', async () => {
    await expect(readPage(plants, undefined)).rejects.toMatchObject({ code: 'changes_unavailable' });
  });

  (hasFeed ? describe : describe.skip)('following the changes', () => {
    const plant = (id: bigint, name = `plant ${id}`): NewPlant => ({ id, name });

    test('reads the newest state of each plant once, in the order of their last changes', async () => {
      const start = await now();
      const all = [205n, 201n, 203n, 202n, 204n].map((id) => ({ ...plant(id), tag: `${id}` }));
      for (const each of all) await plants.add(each);
      const read = await readToEnd(plants, start);
      expect(read.changes).toEqual(all);

      await plants.replace(plant(201n, 'changed'));
      await plants.replace(plant(203n, 'changed'));
      await plants.replace(plant(201n, 'changed again'));
      await plants.remove(202n);
      const after = [plant(203n, 'changed'), plant(201n, 'changed again'), deletion(202n)];
      expect((await readToEnd(plants, read.next)).changes).toEqual(after);
      expect((await readToEnd(plants, start)).changes).toEqual([all[0], all[4], ...after]);
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

    test('makes no entry for replays, equal changes, repeated deletions and what was refused', async () => {
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

    test.each([1, 7, 1_000])('reads at most %i in a page, and goes on where it ended', async (limit) => {
      const start = await now();
      const first = 10_000n + 1_000n * BigInt(limit);
      await addAll(Array.from({ length: 60 }, (_, n) => plant(first - BigInt(n))));
      await Promise.all([first, first - 1n, first - 2n].map((id) => plants.remove(id)));
      const { pages, changes } = await readToEnd(plants, start, limit);
      expect(changes).toEqual((await readToEnd(plants, start)).changes);
      expect(new Set(changes.map(({ id }) => id)).size).toBe(60);
      const lengths = Array.from({ length: Math.ceil(60 / limit) }, (_, n) => Math.min(limit, 60 - n * limit));
      expect(pages.map((page) => page.length)).toEqual(lengths);
    });

    test('reads every text and every id exactly', async () => {
      const start = await now();
      const texts = ['', '\uFEFF', '\uFEFFx', '"\\\n\r\t\u0001\u007F', '\u2028\u2029', '\u{1F33F}', ',"deleted":true}'];
      const all: NewPlant[] = [
        ...texts.map((text, n) => ({ id: 9_007_199_254_740_993n + BigInt(n), name: text, tag: text })),
        { id: MIN_INT64 + 1n, name: 'the smallest but one' },
        { id: MAX_INT64 - 1n, name: 'the largest but one', tag: '' },
      ];
      for (const each of all) await plants.add(each);
      expect((await readToEnd(plants, start)).changes).toEqual(all);
      await plants.remove(MIN_INT64 + 1n);
      expect((await readToEnd(plants, start, 1)).changes.at(-1)).toEqual(deletion(MIN_INT64 + 1n));
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
          expect(sorted(copy.values())).toEqual(await firstPlants({ from: 500n, to: 509n }, 10));
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

  // What frees ids is no port of an operation, which is why the fake has none.
  (hasFeed && name !== 'the fake' ? describe : describe.skip)('purging', () => {
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

    test('forgets no younger ones than it shall, or only the one with the id, if that is deleted', async () => {
      await add(MIN_INT64, 2n, 3n, 4n);
      await remove(MIN_INT64, 2n, 3n);
      const hour = name === 'Postgres' ? `interval '1 hour'` : '3600000';
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

    test('ends the positions before the last of what it has forgotten, in whatever order, and no others', async () => {
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

    test('of several at once ends the positions between them', async () => {
      await add(1n, 2n, 3n);
      await remove(1n);
      const between = (await walk()).next;
      await remove(2n);
      expect(await purge()).toBe(2);
      await expect(readPage(first, between)).rejects.toMatchObject(expired);
    });

    test('of the newest change gives its number to no other', async () => {
      await add(1n);
      await remove(1n);
      const { next } = await walk();
      await purge();
      await add(2n);
      expect((await walk(next)).changes).toEqual([plant(2n)]);
    });

    test('lets a walk that began after it come to its end, also if another one then forgets less', async () => {
      await add(1n, 2n, 3n, 4n);
      await remove(4n, 3n);
      await purge({ id: 3n });
      expect((await walk()).changes).toEqual([plant(1n), plant(2n), deletion(4n)]);
      const began = await readPage(first, undefined, 1);
      await purge({ id: 4n });
      expect((await walk(began.next)).changes).toEqual([plant(2n)]);
    });
  });
});
