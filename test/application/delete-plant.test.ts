import { expect, test } from '@jest/globals';
import { deletePlant } from '../../src/application/delete-plant.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../support/fake-plants.ts';

const monstera = { id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' };
const isMonstera = ({ name }: NewPlant) => name === monstera.name;

/** A store, and the use case over it. */
function setUp(stored: [bigint, NewPlant | 'deleted'][]) {
  const plants = new Map(stored);
  return { plants, remove: deletePlant(fakePlants(plants)) };
}

test('deletes a plant, and again, whatever the condition', async () => {
  const { plants, remove } = setUp([[1n, monstera]]);
  await remove(1n);
  await remove(1n);
  await remove(1n, () => false);
  expect(plants.get(1n)).toBe('deleted');
});

test('deletes a plant that is as expected, and leaves one that is not', async () => {
  const { plants, remove } = setUp([
    [1n, monstera],
    [2n, { id: 2n, name: 'Ficus carica' }],
  ]);
  await remove(1n, isMonstera);
  await expect(remove(2n, isMonstera)).rejects.toMatchObject({ code: 'plant_differs' });
  expect([...plants.values()]).toEqual([{ id: 2n, name: 'Ficus carica' }, 'deleted']);
});

test('refuses to delete a plant that never was, with a condition and without', async () => {
  const { remove } = setUp([]);
  await expect(remove(1n)).rejects.toMatchObject({ code: 'plant_not_found' });
  await expect(remove(1n, () => true)).rejects.toMatchObject({ code: 'plant_not_found' });
});
