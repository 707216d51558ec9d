import type { NewPlant } from '../../../src/domain/plant.ts';
import { plantJson } from '../../../src/formats/plant-json.ts';

/* Many plants, and plants as lines of JSON. */

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
