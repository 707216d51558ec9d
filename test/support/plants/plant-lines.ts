import assert from 'node:assert/strict';
import { listPlants } from '../../../src/application/list-plants.ts';
import type { Order, PlantBatch } from '../../../src/application/ports.ts';
import type { NewPlant } from '../../../src/domain/plant.ts';
import { plantJson } from '../../../src/wire/plant-json.ts';

/* Many plants, batches of plants, and plants as lines of JSON. */

/** Reads JSON, its ids exact. */
export function exactJson<Value>(json: string): Value {
  const exact = (key: string, value: unknown, context?: { readonly source: string }) =>
    key === 'id' ? BigInt(context?.source ?? '') : value;
  // TypeScript does not know of the third parameter.
  return JSON.parse(json, exact as (key: string, value: unknown) => unknown) as Value;
}

/** So many plants, each with a name and a tag of its own, with ids from 0. */
export function many(count: number): NewPlant[] {
  return Array.from({ length: count }, (_, n) => ({ id: BigInt(n), name: `plant ${n}`, tag: `${n}` }));
}

export function linesOf(plants: readonly NewPlant[]): string {
  return plants.map(plantJson).join('\n');
}

/** The plants in such lines, their ids exact. */
export function plantsOf(lines: string): NewPlant[] {
  return lines === '' ? [] : lines.split('\n').map((line) => exactJson<NewPlant>(line));
}

export function batchOf(plants: readonly NewPlant[], isLast: boolean): PlantBatch {
  return { plants, lastId: plants.at(-1)?.id, isLast };
}

/** What a batch has, whose last id is not before its last plant. */
export function contentOf({ plants, lastId, isLast }: PlantBatch, order: Order = 'asc') {
  // It may be that of what was passed over behind them.
  const last = plants.at(-1)?.id ?? lastId;
  assert.ok(lastId === last || (lastId !== undefined && last !== undefined && lastId > last === (order === 'asc')));
  return { plants: [...plants], isLast };
}

/** As many plants as a list reads at once, after the first ones. */
export async function listBatchSize(): Promise<number> {
  let size = 0;
  const scan = async (_range: unknown, count: number) => {
    size = count;
    return batchOf(many(1), false);
  };
  const { others } = await listPlants({ scan })({});
  await others?.[Symbol.asyncIterator]().next();
  return size;
}
