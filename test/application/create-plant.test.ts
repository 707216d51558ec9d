import { expect, test } from '@jest/globals';
import { createPlant } from '../../src/application/create-plant.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../support/fake-plants.ts';

const monstera = { id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' };

function setUp() {
  const stored = new Map<bigint, NewPlant>();
  return { stored, create: createPlant(fakePlants(stored)) };
}

test('stores a new plant and answers it without its id, also when it is created again', async () => {
  const { stored, create } = setUp();
  for (let time = 0; time < 2; time++) {
    expect(await create({ ...monstera })).toEqual({ name: 'Monstera deliciosa', tag: 'houseplant' });
    expect([...stored.values()]).toEqual([monstera]);
  }
});

test('refuses a second plant with the same id and leaves the first untouched', async () => {
  const { stored, create } = setUp();
  await create(monstera);
  await expect(create({ id: 1n, name: 'Ficus elastica' })).rejects.toMatchObject({ code: 'id_taken' });
  expect(stored.get(1n)).toEqual(monstera);
});
