import { expect, test } from '@jest/globals';
import { listAdder } from '../../../../src/adapters/sql/writes/add-all.ts';
import { type NewPlant, validatePlant } from '../../../../src/domain/plant.ts';

test('of plants with one id the last is stored, in whatever order a list is repeated', async () => {
  const stored = new Map<bigint, NewPlant | 'deleted'>();
  const addAll = listAdder(
    async (take) => {
      for (const { item, resolve } of [...take()].reverse()) {
        const before = stored.get(item.id);
        stored.set(item.id, item.target);
        resolve({ before, after: item.target });
      }
    },
    { timeout: 60_000 },
  );
  const plants = [1n, 2n, 1n, 3n, 4n, 1n].map((id, n) => validatePlant({ id, name: `${n}` }));
  expect(await addAll(plants, true)).toEqual(['created', 'created', 'changed', 'created', 'created', 'changed']);
  expect([...stored.values()].map((plant) => plant !== 'deleted' && plant.name).sort()).toEqual(['1', '3', '4', '5']);
});
