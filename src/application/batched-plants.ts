import type { NewPlant } from '../domain/plant.ts';
import { type BatchOptions, batch } from './batch.ts';
import type { Condition, PlantStore, SinglePlants, Write, Written } from './ports.ts';

/** Ids in a list to find. */
const FOUND_IDS = 256;

const always = () => true;
const never = () => false;

/** The ports of the use cases: writes and reads of single plants, collected into lists. */
export function batchedPlants(store: Pick<PlantStore, 'write' | 'find'>, options: BatchOptions): SinglePlants {
  const write = batch<Write, Written>((writes) => store.write(writes), options);
  const find = batch(store.find, { ...options, maxItems: FOUND_IDS });
  const add = (plant: NewPlant) =>
    write((until) => ({ id: plant.id, target: plant, adds: true, replaces: never, until }));
  const change = (id: bigint, target: Write['target'], replaces: Condition = always) =>
    write((until) => ({ id, target, adds: false, replaces, until }));

  return {
    add: async (plant) => (await add(plant)).before ?? 'created',
    replace: async (plant, condition) => (await change(plant.id, plant, condition)).after,
    remove: async (id, condition) => (await change(id, 'deleted', condition)).after,
    find: (id) => find(() => id),
  };
}
