import { expect, test } from '@jest/globals';
import { countPlants } from '../../src/application/count-plants.ts';
import { listTags } from '../../src/application/list-tags.ts';
import type { Tags } from '../../src/application/ports.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { batchOf, many } from '../support/plants/plant-lines.ts';

/* What is said of plants without reading them all. */

const { signal } = new AbortController();
const tagged = (tag: string): Tags['tags'][number] => ({ tag, count: 1, isExact: true });

test.each<[string, number, number, Tags['tags']]>([
  ['so many', 2, 0, [tagged('a'), tagged('b')]],
  ['all', 100, 0, [tagged('a'), tagged('b'), tagged('c'), tagged('d')]],
  ['those that were read within a second', 100, 600, [tagged('a'), tagged('b')]],
])('lists %s tags, whose parts the store gives, and where they go on', async (_what, limit, pause, tags) => {
  const all = ['a', 'b', 'c', 'd'];
  let time = 0;
  const readTags = async (after: string | undefined) => {
    const [tag = '', next] = all.slice(after === undefined ? 0 : all.indexOf(after) + 1);
    time += pause;
    return { tags: [tagged(tag)], next: next && tag };
  };
  const last = tags.at(-1)?.tag;
  const list = listTags({ readTags }, () => time);
  expect(await list({ after: undefined, limit, signal })).toEqual({ tags, next: last === 'd' ? undefined : last });
});

test.each([
  [0, { count: 0, isExact: true }],
  [9_999, { count: 9_999, isExact: true }],
  [10_000, { count: 10_000, isExact: true }],
  [10_001, { count: 10_000, isExact: false }],
])('counts %i plants', async (count, expected) => {
  const plants = fakePlants(new Map(many(count).map((plant) => [plant.id, plant])));
  expect(await countPlants(plants, () => 0)({ name: 'plant' })).toEqual(expected);
});

test('stops counting after a second, and after 50,000 plants that a search has looked at', async () => {
  let scans = 0;
  const scan = async () => ({ ...batchOf(many(1), false), lastId: BigInt(2_000 * ++scans) });
  expect(await countPlants({ scan }, () => 0)({ name: 'plant' })).toEqual({ count: 25, isExact: false });
  let time = 0;
  expect(await countPlants({ scan }, () => (time += 300))({ name: 'plant' })).toEqual({ count: 4, isExact: false });
});
