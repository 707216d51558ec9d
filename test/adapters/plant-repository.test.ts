import { describe, expect, test } from '@jest/globals';
import type { NewPlant } from '../../src/domain/plant.ts';
import { forAllTests } from '../support/lifetimes.ts';
import { implementations } from '../support/plants/plant-repositories.ts';

/* What the port for adding plants promises, held against every implementation of it. */

describe.each(implementations)('on %s', (_name, open) => {
  const subject = forAllTests(open);
  const plants = forAllTests(async () => subject.instances[0]);

  const stored = async (id: bigint) => (await subject.all()).filter((plant) => plant.id === id);

  test.each<NewPlant>([
    { id: 9223372036854775807n, name: 'Quercus robur', tag: 'tree' },
    { id: -9223372036854775808n, name: '', tag: '' },
    { id: 9007199254740993n, name: "Rosa 'Peace' \u{1F339} \\ \" \t\n\u0001\u007F", tag: '%s $1 :x ?' },
    { id: 0n, name: 'no tag' },
    { id: 1n, name: '\uFEFFQuercus', tag: '\uFEFF' },
    { id: 2n, name: '\uFEFF\uFEFF', tag: 'tree\uFEFF' },
  ])('stores $id with every field exactly and resolves to it', async (plant) => {
    expect(await plants.add(plant)).toEqual(plant);
    expect(await stored(plant.id)).toEqual([plant]);
  });

  test('resolves to the record that was there before and leaves it untouched', async () => {
    const first = { id: 100n, name: 'Ficus carica', tag: 'fruit' };
    await plants.add(first);
    expect(await plants.add({ id: 100n, name: 'Ficus elastica' })).toEqual(first);
    expect(await plants.add({ ...first })).toEqual(first);
    expect(await stored(100n)).toEqual([first]);
  });

  test('lets exactly one of 40 racing writers with one id win, and tells all of them which', async () => {
    const writers = Array.from({ length: 40 }, (_, n) => ({ id: 200n, name: `writer ${n}`, tag: `${n}` }));
    const seen = await Promise.all(
      writers.map((plant, n) => (subject.instances[n % subject.instances.length] ?? plants).add(plant)),
    );
    const [winner] = await stored(200n);
    expect(writers).toContainEqual(winner);
    expect(await stored(200n)).toHaveLength(1);
    expect(seen).toEqual(writers.map(() => winner));
  });

  test('keeps many racing plants with ids of their own apart', async () => {
    const many = Array.from({ length: 300 }, (_, n) => ({ id: 1_000n + BigInt(n), name: `plant ${n}` }));
    const shuffled = many.toSorted((a, b) => Number((a.id * 7919n) % 300n) - Number((b.id * 7919n) % 300n));
    expect(await Promise.all(shuffled.map((plant) => plants.add(plant)))).toEqual(shuffled);
    const all = await subject.all();
    expect(all.filter(({ id }) => id >= 1_000n && id < 1_300n)).toHaveLength(300);
  });
});
