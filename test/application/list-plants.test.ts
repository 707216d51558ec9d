import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ListQuery, listPlants, type PlantList } from '../../src/application/list-plants.ts';
import type { PlantStore } from '../../src/application/ports.ts';
import { PlantStoreError } from '../../src/domain/errors.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { fakePlants } from '../support/fake-plants.ts';
import { batchOf, listBatchSize } from '../support/plants/plant-lines.ts';

type ScanPlants = Pick<PlantStore, 'scan'>;

const BATCH = await listBatchSize();

const plant = (id: bigint, tag?: string): NewPlant => ({ id, name: `plant ${id}`, ...(tag !== undefined && { tag }) });
const idsOf = (plants: readonly NewPlant[]) => plants.map(({ id }) => id);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => plant(BigInt(n)));
/** A store with these plants, and the use case over it. Time stands still, since a busy machine takes long for a page. */
function store(plants: readonly NewPlant[], replaced: (store: ScanPlants) => ScanPlants | object = () => ({})) {
  const stored = new Map(plants.map((each) => [each.id, each]));
  const fake = fakePlants(stored);
  return { stored, list: listPlants({ ...fake, ...replaced(fake) }, () => 0) };
}

/** The use case over a store whose batches have three plants at most. */
const inThrees = (plants: readonly NewPlant[]) =>
  store(plants, ({ scan }) => ({ scan: (range, count) => scan(range, Math.min(count, 3)) })).list;

async function allOf({ first, others }: PlantList): Promise<NewPlant[]> {
  const plants = [...first];
  for await (const batch of others ?? []) {
    expect(batch).not.toEqual([]);
    plants.push(...batch);
  }
  return plants;
}

/** Reads page after page by `next`. */
async function pagesOf(list: (query: ListQuery) => Promise<PlantList>, query: ListQuery): Promise<NewPlant[][]> {
  const pages: NewPlant[][] = [];
  for (let { after } = query; ; ) {
    const page = await list({ ...query, after });
    pages.push(await allOf(page));
    if (page.next === undefined) return pages;
    after = page.next;
  }
}

test.each([1, 10])(
  'gives a page of up to %i plants at once, and the next one only if there are more',
  async (limit) => {
    for (const count of [limit - 1, limit, limit + 1, limit + 3]) {
      const page = {
        first: upTo(Math.min(limit, count)),
        others: undefined,
        next: count > limit ? BigInt(limit - 1) : undefined,
      };
      expect(await store(upTo(count)).list({ limit })).toEqual(page);
      expect(await inThrees(upTo(count))({ limit })).toEqual(page);
    }
  },
);

test('walking gives each plant that is there throughout exactly once, while others come and go', async () => {
  const changes = fc.array(
    fc.record({ id: fc.bigInt({ min: 0n, max: 60n }).map((n) => 2n * n + 1n), isAdded: fc.boolean() }),
    { maxLength: 40 },
  );
  const permanent = Array.from({ length: 60 }, (_, n) => plant(BigInt(2 * n)));
  await fc.assert(
    fc.asyncProperty(changes, fc.integer({ min: 1, max: 20 }), async (drawn, limit) => {
      const left = [...drawn];
      const { stored, list } = store(permanent, ({ scan }) => ({
        async scan(range, count) {
          const batch = await scan(range, count);
          const change = left.shift();
          if (change?.isAdded) stored.set(change.id, plant(change.id));
          else if (change) stored.delete(change.id);
          return batch;
        },
      }));
      const pages = await pagesOf(list, { limit });
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(limit);
      const ids = idsOf(pages.flat());
      expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1)));
      expect(ids.filter((id) => id % 2n === 0n)).toEqual(idsOf(permanent));
    }),
  );
});

describe('a search', () => {
  const name = 'PLANT 1';
  const all = upTo(40);
  const wanted = all.filter((each) => each.name.includes('plant 1'));
  let time = 0;
  /** A store that looks at three plants in a call, which takes so many milliseconds. */
  const searched = (milliseconds: number) => {
    const fake = fakePlants(new Map(all.map((each) => [each.id, each])));
    const scan: PlantStore['scan'] = async ({ from, to, ...wanted }, count) => {
      time += milliseconds;
      const start = from < 0n ? 0n : from;
      const end = start + 2n < to ? start + 2n : to;
      const batch = await fake.scan({ from: start, to: end, ...wanted }, count);
      return batch.isLast ? { ...batch, lastId: end, isLast: end >= 39n } : batch;
    };
    return listPlants({ scan }, () => time);
  };

  test('fills a page with what is found in many parts of the store', async () => {
    const list = searched(1);
    expect((await list({ limit: 3, name })).first).toEqual(wanted.slice(0, 3));
    expect((await pagesOf(list, { limit: 2, name })).flat()).toEqual(wanted);
    expect((await pagesOf(list, { limit: 5, name: 'none' })).flat()).toEqual([]);
  });

  test('ends a page after a second, perhaps without a plant, and the next one goes on behind all that was searched', async () => {
    const list = searched(300);
    expect(await list({ limit: 10, name: 'plant 2' })).toEqual({
      first: [plant(2n)],
      others: undefined,
      next: 11n,
    });
    expect(await list({ limit: 10, name: 'none' })).toEqual({ first: [], others: undefined, next: 11n });
    expect((await pagesOf(list, { limit: 10, name: 'none' })).length).toBe(4);
    expect((await pagesOf(list, { limit: 10, name })).flat()).toEqual(wanted);
  });
});

describe('where all plants have been deleted', () => {
  let time = 0;
  /** Each read takes 300 ms and passes over 5,000 ids. */
  const scan: PlantStore['scan'] = async ({ from }) => {
    time += 300;
    return { ...batchOf([], false), lastId: from + 4_999n };
  };
  const list = listPlants({ scan }, () => time);

  test('a page ends after a second, without a plant, and the next one goes on behind them', async () => {
    expect(await list({ after: 0n, limit: 1 })).toEqual({ first: [], others: undefined, next: 20_000n });
    expect(await list({ after: 20_000n, limit: 1 })).toMatchObject({ next: 40_000n });
  });
});

test('a list that is no page is whole for a client that has only closed its side', async () => {
  const all = upTo(3 * BATCH);
  expect(await allOf(await store(all).list({ signal: AbortSignal.abort() }))).toEqual(all);
});

test('where a batch that is read ahead of its turn fails while nobody reads on, nothing is left unhandled', async () => {
  let count = 0;
  const { list } = store(upTo(4 * BATCH), ({ scan }) => ({
    async scan(...range) {
      if (++count === 3) throw new PlantStoreError('store_unavailable', 'not now');
      return scan(...range);
    },
  }));
  const { others } = await list({});
  for await (const plants of others ?? []) {
    expect(plants).toHaveLength(BATCH);
    break;
  }
});
