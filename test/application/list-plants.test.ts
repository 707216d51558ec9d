import { describe, expect, test } from '@jest/globals';
import { listPlants, type PlantList } from '../../src/application/list-plants.ts';
import type { PlantRepository } from '../../src/application/ports.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { BATCH, fakePlants } from '../support/fake-plants.ts';

type Lists = Pick<PlantRepository, 'list'>;

const plant = (id: bigint): NewPlant => ({ id, name: `plant ${id}` });
const upTo = (count: number) => Array.from({ length: count }, (_, n) => plant(BigInt(n)));

/** A store with these plants, and the use case over it. */
function store(plants: readonly NewPlant[], replaced: (store: Lists) => Partial<Lists> = () => ({})) {
  const stored = new Map(plants.map((each) => [each.id, each]));
  const fake = fakePlants(stored);
  return { stored, list: listPlants({ ...fake, ...replaced(fake) }) };
}

async function allOf({ first, batches }: PlantList): Promise<NewPlant[]> {
  const plants = [...first];
  for await (const batch of batches ?? []) {
    expect(batch).not.toEqual([]);
    plants.push(...batch);
  }
  return plants;
}

describe('a list that is no page', () => {
  test.each([{}, { limit: BATCH + 400 }, { name: 'PLANT 1' }, { after: 7n, order: 'desc' as const }])(
    'has each plant of %j once, though its client has closed its side',
    async (query) => {
      const all = query.order === 'desc' ? upTo(7).reverse() : upTo(3 * BATCH);
      const wanted = all.filter(({ name }) => name.includes(query.name?.toLowerCase() ?? '')).slice(0, query.limit);
      const list = await store(upTo(3 * BATCH)).list({ ...query, signal: AbortSignal.abort() });
      expect(await allOf(list)).toEqual(wanted);
      expect(list.next).toBeUndefined();
    },
  );

  test('passes over parts without a plant, and ends with an error once its client left', async () => {
    const leaving = new AbortController();
    const { list } = store(upTo(10), () => ({
      list: async ({ from }) =>
        from < 5n ? { plants: [], next: from + 1n } : { plants: [plant(from)], next: undefined },
    }));
    expect(await allOf(await list({ after: 0n, name: 'x', signal: leaving.signal }))).toEqual([plant(5n)]);
    leaving.abort();
    const left = allOf(await list({ after: 0n, name: 'x', signal: leaving.signal }));
    await expect(left).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('leaves nothing unhandled if a part that is read ahead fails and nobody reads on', async () => {
    let count = 0;
    const { list } = store(upTo(4 * BATCH), ({ list }) => ({
      async list(...range) {
        if (++count === 3) throw new PlantStoreError('store_unavailable', 'not now');
        return list(...range);
      },
    }));
    const { batches } = await list({});
    for await (const plants of batches ?? []) {
      expect(plants).toHaveLength(BATCH);
      break;
    }
  });
});
