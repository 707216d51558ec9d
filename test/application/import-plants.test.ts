import { describe, expect, test } from '@jest/globals';
import type { AddPlant } from '../../src/application/ports.ts';
import { type Ports, useCases } from '../../src/application/use-cases.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { many } from '../support/plants/plant-lines.ts';

/** Use cases on what is stored, of which the import counts its calls. */
function setUp(given: readonly (readonly [bigint, NewPlant | 'deleted'])[] = [], own: Partial<Ports> = {}) {
  const stored = new Map(given);
  const cases = useCases({ ...fakePlants(stored), ...own });
  const stop = new AbortController();
  const run = (list: readonly NewPlant[], replaces = false) =>
    cases.importPlants(list, { replaces, signal: stop.signal });
  return { stored, ...cases, run, stop };
}

const plant = (id: number, name: string, tag?: string): NewPlant => ({ id: BigInt(id), name, ...(tag && { tag }) });

test('creates what is new, and leaves what is there as it is', async () => {
  const { run, stored } = setUp([
    [1n, plant(1, 'same')],
    [2n, plant(2, 'there')],
    [3n, 'deleted'],
  ]);
  const list = [plant(1, 'same'), plant(2, 'other'), plant(3, 'late'), plant(4, 'new')];
  expect(await run(list)).toEqual(['unchanged', 'id_taken', 'id_retired', 'created']);
  expect([...stored.values()]).toEqual([plant(1, 'same'), plant(2, 'there'), 'deleted', plant(4, 'new')]);
});

test('replaces what is there if it is asked to, but nothing that was deleted', async () => {
  const { run, stored } = setUp([
    [1n, plant(1, 'same')],
    [2n, plant(2, 'there', 'tag')],
    [3n, 'deleted'],
  ]);
  const list = [plant(1, 'same'), plant(2, 'other'), plant(3, 'late'), plant(4, 'new')];
  expect(await run(list, true)).toEqual(['unchanged', 'changed', 'id_retired', 'created']);
  expect(stored.get(2n)).toEqual(plant(2, 'other'));
  expect(stored.get(3n)).toBe('deleted');
  expect(await run([], true)).toEqual([]);
});

describe('of plants with one id', () => {
  const list = [plant(1, 'a'), plant(2, 'x'), plant(1, 'a'), plant(1, 'b'), plant(1, 'b'), plant(1, 'd')];

  /** What it would be if each was sent alone. */
  async function oneByOne(given: NewPlant | 'deleted' | undefined, replaces: boolean) {
    const { run, stored } = setUp(given ? [[1n, given]] : []);
    const outcomes = [];
    for (const each of list) outcomes.push(...(await run([each], replaces)));
    return { outcomes, stored: stored.get(1n) };
  }

  test.each([
    [undefined, false],
    [undefined, true],
    [plant(1, 'a'), false],
    [plant(1, 'a'), true],
    [plant(1, 'b'), false],
    [plant(1, 'b'), true],
    [plant(1, 'c'), false],
    [plant(1, 'c'), true],
    ['deleted', false],
    ['deleted', true],
  ] as const)('where %j is, the outcome is as if each came alone, replacing: %s', async (given, replaces) => {
    const own = { added: 0, replaced: 0 };
    const store = new Map<bigint, NewPlant | 'deleted'>(given ? [[1n, given]] : []);
    const fake = fakePlants(store);
    const { run } = setUp([], {
      add: (one) => {
        if (one.id === 1n) own.added++;
        return fake.add(one);
      },
      replace: (one) => {
        own.replaced++;
        return fake.replace(one);
      },
    });
    const outcomes = await run(list, replaces);
    expect({ outcomes, stored: store.get(1n) }).toEqual(await oneByOne(given, replaces));
    // And only one of them is written.
    expect(own.added).toBe(1);
    expect(own.replaced).toBeLessThanOrEqual(1);
  });

  test('that was deleted or purged before it could be replaced, nothing is resurrected', async () => {
    const found = (after: 'deleted' | undefined) =>
      setUp([[1n, plant(1, 'there')]], { replace: async () => after }).run([plant(1, 'new'), plant(1, 'newer')], true);
    expect(await found('deleted')).toEqual(['id_retired', 'id_retired']);
    await expect(found(undefined)).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

/** A store that keeps its calls waiting until they are let through. */
function slowStore() {
  const waiting: (() => void)[] = [];
  const stored = new Map<bigint, NewPlant | 'deleted'>();
  const fake = fakePlants(stored);
  let most = 0;
  const add: AddPlant['add'] = async (one) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      most = Math.max(most, waiting.length);
    });
    return fake.add(one);
  };
  return { add, waiting, stored, most: () => most };
}

/** Lets calls through until the work is done. */
async function letThrough(waiting: (() => void)[], work: Promise<unknown>, atOnce: number) {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await new Promise(setImmediate);
    for (const go of waiting.splice(0, atOnce)) go();
  }
  await done;
}

describe('gives the store', () => {
  test('512 plants of all imports at once', async () => {
    const { add, waiting, most } = slowStore();
    const { run } = setUp([], { add });
    await letThrough(waiting, Promise.all([run(many(3_000)), run(many(2_000)), run(many(1_000))]), 100);
    expect(most()).toBe(512);
  });

  test('256 while others create, then none for as long as those took', async () => {
    const { add, waiting } = slowStore();
    const groups: { size: number; readonly start: number; end: number }[] = [];
    let inFlight = 0;
    const { run, createPlant } = setUp([], {
      async add(one) {
        if (one.name === 'of another client') return add(one);
        if (inFlight++ === 0) groups.push({ size: 0, start: performance.now(), end: 0 });
        const group = groups.at(-1) ?? { size: 0, end: 0 };
        group.size++;
        const found = await add(one);
        group.end = performance.now();
        inFlight--;
        return found;
      },
    });
    let isDone = false;
    const importing = Promise.all([run(many(2_000)), run(many(2_000))]).finally(() => {
      isDone = true;
    });
    for (let id = 1_000_000n; !isDone; id++) {
      const creating = createPlant({ id, name: 'of another client' });
      await new Promise((resolve) => setTimeout(resolve, 5));
      for (const go of waiting.splice(0)) go();
      await creating;
    }
    await importing;
    // The first ones begin before anything is known of others.
    const [first, ...later] = groups.map(({ size }) => size);
    expect([first, Math.max(...later)]).toEqual([512, 256]);
    for (const [n, { start, end }] of groups.slice(1, -1).entries()) {
      // Timers have whole milliseconds.
      expect((groups[n + 2]?.start ?? 0) - end).toBeGreaterThan(end - start - 2);
    }
  });
});

test('gives the store 512 plants at once again when others no longer write', async () => {
  const { add, waiting } = slowStore();
  let isSlow = false;
  const { run, createPlant } = setUp([], { add: async (one) => (isSlow ? add(one) : 'created') });
  const importing = run(many(512));
  await createPlant({ id: 1_000_000n, name: 'of another client' });
  await importing;
  isSlow = true;
  const second = run(many(600));
  while (waiting.length < 256) await new Promise(setImmediate);
  expect(waiting).toHaveLength(512);
  await letThrough(waiting, second, 512);
});

test.each(['changePlant', 'deletePlant'] as const)('%s by others counts as a write, too', async (write) => {
  const { add, waiting, most } = slowStore();
  const { run, ...cases } = setUp([[-1n, plant(-1, 'there')]], { add });
  const importing = run(many(2_000));
  while (waiting.length < 512) await new Promise(setImmediate);
  if (write === 'changePlant') await cases.changePlant(plant(-1, 'other'));
  else await cases.deletePlant(-1n);
  for (const go of waiting.splice(0)) go();
  while (waiting.length === 0) await new Promise(setImmediate);
  expect([waiting.length, most()]).toEqual([256, 512]);
  await letThrough(waiting, importing, 512);
});

describe('ends', () => {
  test.each([new PlantStoreError('store_unavailable', 'later'), new TypeError('a defect')])(
    'when an outcome is not known (%s), once nothing runs any more',
    async (error) => {
      let [inFlight, begun] = [0, 0];
      const add: AddPlant['add'] = async ({ id }) => {
        begun++;
        inFlight++;
        // The later ones last longer.
        for (let turn = 0n; turn < id; turn++) await new Promise(setImmediate);
        inFlight--;
        if (id === 3n) throw error;
        return 'created';
      };
      const { run } = setUp([], { add });
      await expect(run(many(5_000))).rejects.toBe(error);
      expect(inFlight).toBe(0);
      expect(begun).toBe(512);
    },
  );

  test('with the outcomes, if all are known when its client has left', async () => {
    const { run, stop } = setUp();
    stop.abort();
    expect(await run(many(512))).toEqual(Array(512).fill('created'));
    await expect(run(many(513))).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('when its client has left, once nothing runs any more', async () => {
    const { add, waiting, stored } = slowStore();
    const { run, stop } = setUp([], { add });
    const importing = run(many(5_000));
    importing.catch(() => {});
    while (waiting.length < 512) await new Promise(setImmediate);
    stop.abort();
    await letThrough(
      waiting,
      importing.catch(() => {}),
      512,
    );
    await expect(importing).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(stored.size).toBe(512);
    expect(waiting).toEqual([]);
  });
});
