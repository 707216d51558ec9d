import assert from 'node:assert/strict';
import { listPlants } from '../../../src/application/list-plants.ts';
import type { Order, PlantBatch } from '../../../src/application/ports.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { jsonEncoder } from '../../../src/wire/json-encoder.ts';
import { jsonParser } from '../../../src/wire/json-parser.ts';
import { NewPlant as NewPlantSchema } from '../../../src/wire/schemas.ts';

/* Many plants, and plants as ReadPlants gives them: JSON records separated by line feeds. */

const encode = jsonEncoder(NewPlantSchema);
const parse = jsonParser(NewPlantSchema);

/** So many plants, each with a name and a tag of its own, with ids from 0. */
export function many(count: number): NewPlant[] {
  return Array.from({ length: count }, (_, n) => ({ id: BigInt(n), name: `plant ${n}`, tag: `${n}` }));
}

export function linesOf(plants: readonly NewPlant[]): string {
  return plants.map(encode).join('\n');
}

/** The plants in such lines, their ids exact. */
export function plantsOf(lines: string): NewPlant[] {
  return lines === '' ? [] : lines.split('\n').map((line) => parse(Buffer.from(line)));
}

export function batchOf(plants: readonly NewPlant[], isLast: boolean): PlantBatch {
  return { lines: linesOf(plants), count: plants.length, lastId: plants.at(-1)?.id, isLast };
}

/** What a batch has, of which everything that it says of its lines is true, and which the wire's encoder could have written. */
export function contentOf(batch: PlantBatch, order: Order = 'asc'): { plants: NewPlant[]; isLast: boolean } {
  const plants = plantsOf(batch.lines);
  const { lastId, isLast } = batch;
  // It may be that of what was passed over behind them.
  const last = plants.at(-1)?.id ?? lastId;
  assert.ok(lastId === last || (lastId !== undefined && last !== undefined && lastId > last === (order === 'asc')));
  assert.deepEqual(batch, { ...batchOf(plants, isLast), lastId });
  return { plants, isLast };
}

/** As many plants as a list reads at once. */
export async function listBatchSize(): Promise<number> {
  let size = 0;
  const readBatch = async (_range: unknown, count: number) => {
    size = count;
    return batchOf([], true);
  };
  await listPlants({ readBatch })({});
  return size;
}
