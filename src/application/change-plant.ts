import { type NewPlant, validatePlant } from '../domain/plant.ts';
import type { Precondition } from '../domain/precondition.ts';
import { requirePlant } from './find-plant.ts';
import type { PlantRepository } from './ports.ts';

/**
 * Replaces the name and tag of the plant with this id, and resolves to the plant once that is durable. Repeating the change
 * succeeds and changes nothing, unless the precondition excludes the plant.
 *
 * @throws PlantStoreError `invalid_plant` if a field breaks its rule, `plant_not_found`, `plant_deleted`,
 * `precondition_failed` if the precondition is not met, `store_unavailable` as the port does
 */
export type ChangePlant = (plant: NewPlant, precondition?: Precondition) => Promise<NewPlant>;

export function changePlant(plants: Pick<PlantRepository, 'replace'>): ChangePlant {
  return async (plant, precondition) =>
    requirePlant(plant.id, await plants.replace(validatePlant(plant), precondition));
}

/**
 * Deletes the plant that has the id, and resolves once that is durable. Its id stays taken, so that no late retry of its
 * creation brings it back. Deleting it again succeeds and changes nothing, whatever the precondition.
 *
 * @throws PlantStoreError `plant_not_found` if the id was never used, `precondition_failed` if the precondition is not met,
 * `store_unavailable` as the port does
 */
export type DeletePlant = (id: bigint, precondition?: Precondition) => Promise<void>;

export function deletePlant(plants: Pick<PlantRepository, 'remove'>): DeletePlant {
  return async (id, precondition) => {
    const stored = await plants.remove(id, precondition);
    if (stored !== 'deleted') requirePlant(id, stored);
  };
}
