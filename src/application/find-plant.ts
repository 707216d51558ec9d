import { PlantStoreError } from '../domain/errors.ts';
import type { NewPlant, Stored } from '../domain/plant.ts';
import type { PlantRepository } from './ports.ts';

/**
 * Finds the plant with the id.
 *
 * @throws PlantStoreError `plant_not_found`, `plant_deleted`, `store_unavailable` as the port does
 */
export type FindPlant = (id: bigint) => Promise<NewPlant>;

export function findPlant(plants: Pick<PlantRepository, 'find'>): FindPlant {
  return async (id) => requirePlant(id, await plants.find(id));
}

/**
 * Narrows what is stored under the id to a plant.
 *
 * @throws PlantStoreError `plant_not_found`, `plant_deleted`, `precondition_failed` if a precondition is not met
 */
export function requirePlant(id: bigint, stored: Stored | 'unmet'): NewPlant {
  if (stored === undefined) throw new PlantStoreError('plant_not_found', id);
  if (stored === 'deleted') throw new PlantStoreError('plant_deleted', id);
  if (stored === 'unmet') throw new PlantStoreError('precondition_failed', id);
  return stored;
}
