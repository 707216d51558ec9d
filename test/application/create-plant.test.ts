import { expect, test } from '@jest/globals';
import { createPlant } from '../../src/application/create-plant.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../support/fake-plants.ts';

const monstera = { id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' };

function setUp() {
  const stored = new Map<bigint, NewPlant>();
  return { stored, create: createPlant(fakePlants(stored)) };
}

test('stores a new plant and answers it without its id', async () => {
  const { stored, create } = setUp();
  expect(await create(monstera)).toEqual({ name: 'Monstera deliciosa', tag: 'houseplant' });
  expect(stored.get(1n)).toEqual(monstera);
});

test('leaves the tag out of the answer if the plant has none', async () => {
  const { create } = setUp();
  expect(Object.keys(await create({ id: 1n, name: 'Monstera' }))).toEqual(['name']);
});

test('answers the same record again as a success that changes nothing', async () => {
  const { stored, create } = setUp();
  const first = await create(monstera);
  expect(await create({ ...monstera })).toEqual(first);
  expect([...stored.values()]).toEqual([monstera]);
});

test('refuses a second plant with the same id and leaves the first untouched', async () => {
  const { stored, create } = setUp();
  await create(monstera);
  await expect(create({ id: 1n, name: 'Ficus elastica' })).rejects.toMatchObject({ code: 'id_taken' });
  expect(stored.get(1n)).toEqual(monstera);
});

test('refuses an invalid plant before the repository sees it', async () => {
  const { stored, create } = setUp();
  await expect(create({ id: 1n, name: '\0' })).rejects.toMatchObject({ code: 'invalid_plant' });
  expect(stored.size).toBe(0);
});
