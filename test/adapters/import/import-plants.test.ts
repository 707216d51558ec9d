import { expect, test } from '@jest/globals';
import type { Entry } from '../../../src/adapters/import/entry.ts';
import { importPlants } from '../../../src/adapters/import/import-plants.ts';
import { createPlant } from '../../../src/application/create-plant.ts';
import type { AddPlant } from '../../../src/application/ports.ts';
import { PlantStoreError } from '../../../src/domain/errors.ts';
import { fakePlants } from '../../support/fake-plants.ts';

function entry(line: number, content: Entry['content']): Entry {
  return { line: { number: line, lastNumber: line, bytes: Buffer.from(`line ${line}`), problem: undefined }, content };
}

/** Entries with ids of their own, in batches, as long as somebody reads them. */
async function* many(count: number, onRead = (_line: number) => {}, size = 100): AsyncGenerator<readonly Entry[]> {
  for (let line = 1; line <= count; line += size) {
    onRead(line);
    yield Array.from({ length: size }, (_, n) => entry(line + n, { id: BigInt(line + n), name: 'a plant' }));
  }
}

function setUp(plants: AddPlant = fakePlants()) {
  const tally = { stored: 0, conflicting: 0, invalid: 0 };
  const rejected: string[] = [];
  const stop = new AbortController();
  return {
    tally,
    rejected,
    stop: () => stop.abort(),
    run: (list: AsyncIterable<readonly Entry[]>) =>
      importPlants(list, {
        createPlant: createPlant(plants),
        reject: ({ line }, { message }) => rejected.push(`${line.number}: ${message}`),
        tally,
        signal: stop.signal,
      }),
  };
}

test('has the plants of two batches in flight, and reads no further meanwhile', async () => {
  const waiting: (() => void)[] = [];
  const plants: AddPlant = {
    async add(plant) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return plant;
    },
  };
  const { run, tally } = setUp(plants);
  let read = 0;
  const onRead = (line: number) => {
    read = line;
  };
  const done = run(many(20_000, onRead, 1_000));
  let most = 0;
  while (tally.stored < 20_000) {
    await new Promise(setImmediate);
    most = Math.max(most, waiting.length);
    expect(read - tally.stored).toBeLessThanOrEqual(2_001);
    waiting.shift()?.();
    for (const resolve of waiting.splice(0, 500)) resolve();
  }
  await done;
  expect(most).toBe(2_000);
});

test('reads no more once it is stopped, and finishes what is in flight', async () => {
  const { run, tally, stop } = setUp();
  let read = 0;
  await run(
    many(1_000_000, (line) => {
      read = line;
      if (line > 500) stop();
    }),
  );
  expect(read).toBe(501);
  expect(tally).toEqual({ stored: 500, conflicting: 0, invalid: 0 });
});

test.each([new PlantStoreError('store_unavailable', 'later'), new TypeError('a defect')])(
  'stops when creating fails with %s, once nothing is in flight',
  async (error) => {
    let inFlight = 0;
    const plants: AddPlant = {
      async add(plant) {
        inFlight++;
        await new Promise(setImmediate);
        inFlight--;
        if (plant.id === 150n) throw error;
        return plant;
      },
    };
    const { run, tally, rejected } = setUp(plants);
    await expect(run(many(1_000_000))).rejects.toBe(error);
    expect(inFlight).toBe(0);
    expect(tally.stored).toBeGreaterThanOrEqual(149);
    expect(tally.stored).toBeLessThan(10_000);
    expect(rejected).toEqual([]);
  },
);

test('stops when reading fails or a refusal cannot be kept', async () => {
  async function* broken() {
    yield [entry(1, { id: 1n, name: 'Rosa' })];
    throw new Error('the disk is broken');
  }
  const { run, tally } = setUp();
  await expect(run(broken())).rejects.toThrow('the disk is broken');
  expect(tally.stored).toBe(1);

  const full = importPlants(many(100_000), {
    createPlant: () => Promise.reject(new PlantStoreError('id_taken', 'id 1 belongs to a different plant')),
    reject() {
      throw new Error('the disk is full');
    },
    tally: { stored: 0, conflicting: 0, invalid: 0 },
    signal: AbortSignal.any([]),
  });
  await expect(full).rejects.toThrow('the disk is full');
});
