import { PlantStoreError } from '../domain/errors.ts';
import type { NewPlant, Stored } from '../domain/plant.ts';
import type { SinglePlants } from './ports.ts';

/**
 * Finds the plant with the id.
 *
 * @throws PlantStoreError `plant_not_found`, `plant_deleted`, `store_unavailable` as the port does
 */
type FindPlant = (id: bigint) => Promise<NewPlant>;

export function findPlant(plants: Pick<SinglePlants, 'find'>): FindPlant {
  return async (id) => requirePlant(id, await plants.find(id));
}

/** Narrows what is stored under the id to a plant. @throws PlantStoreError `plant_not_found`, `plant_deleted` */
export function requirePlant(id: bigint, stored: Stored): NewPlant {
  if (stored === undefined) throw new PlantStoreError('plant_not_found', id);
  if (stored === 'deleted') throw new PlantStoreError('plant_deleted', id);
  return stored;
}
