import { expect, test } from '@jest/globals';
import { countPlants } from '../../src/application/count-plants.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { batchOf, many } from '../support/plants/plant-lines.ts';

test.each([
  [0, { count: 0, isExact: true }],
  [9_999, { count: 9_999, isExact: true }],
  [10_000, { count: 10_000, isExact: true }],
  [10_001, { count: 10_000, isExact: false }],
])('counts %i plants', async (count, expected) => {
  const plants = fakePlants(new Map(many(count).map((plant) => [plant.id, plant])));
  expect(await countPlants(plants, () => 0)({ name: 'plant' })).toEqual(expected);
});

test('stops counting after a second', async () => {
  let scans = 0;
  const scan = async () => ({ ...batchOf(many(1), false), lastId: BigInt(2_000 * ++scans) });
  let time = 0;
  expect(await countPlants({ scan }, () => (time += 300))({ name: 'plant' })).toEqual({ count: 4, isExact: false });
});
