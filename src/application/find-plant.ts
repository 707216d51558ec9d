import { PlantStoreError } from '../domain/errors.ts';
import type { NewPlant } from '../domain/plant.ts';
import type { FindPlant as Plants } from './ports.ts';

/** Finds the plant with the id. @throws PlantStoreError `plant_not_found`, `store_unavailable` as the port does */
export type FindPlant = (id: bigint) => Promise<NewPlant>;

export function findPlant(plants: Plants): FindPlant {
  return async (id) => {
    const plant = await plants.find(id);
    if (plant === undefined) throw new PlantStoreError('plant_not_found', `no plant has the id ${id}`);
    return plant;
  };
}
