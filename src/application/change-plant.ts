import { PlantStoreError } from '../domain/errors.ts';
import { checkNewPlant, isSamePlant, type NewPlant } from '../domain/plant.ts';
import { requirePlant } from './find-plant.ts';
import type { Condition, SinglePlants } from './ports.ts';

/**
 * Replaces name and tag of the plant that has the id, and resolves to it once that is durable. Replacing them with the
 * same again succeeds and changes nothing, whatever the condition.
 *
 * @param condition which plant may be replaced; undefined for any
 * @throws PlantStoreError `invalid_plant` if a field breaks its rule, `plant_not_found`, `plant_deleted`,
 * `plant_differs` if the condition is not met, `store_unavailable` as the port does
 */
type ChangePlant = (plant: NewPlant, condition?: Condition) => Promise<NewPlant>;

export function changePlant(plants: Pick<SinglePlants, 'replace'>): ChangePlant {
  return async (plant, condition) => {
    checkNewPlant(plant);
    const stored = requirePlant(plant.id, await plants.replace(plant, condition));
    if (!isSamePlant(stored, plant)) throw conditionNotMet(plant.id);
    return stored;
  };
}

/**
 * Deletes the plant that has the id, and resolves once that is durable. Its id stays taken, so that no late retry of its
 * creation brings it back. Deleting it again succeeds and changes nothing, whatever the condition.
 *
 * @param condition which plant may be deleted; undefined for any
 * @throws PlantStoreError `plant_not_found` if no plant ever had it, `plant_differs` if the condition is not met,
 * `store_unavailable` as the port does
 */
type DeletePlant = (id: bigint, condition?: Condition) => Promise<void>;

export function deletePlant(plants: Pick<SinglePlants, 'remove'>): DeletePlant {
  return async (id, condition) => {
    const stored = await plants.remove(id, condition);
    if (stored === 'deleted') return;
    requirePlant(id, stored);
    throw conditionNotMet(id);
  };
}

export function conditionNotMet(id: bigint): PlantStoreError {
  return new PlantStoreError('plant_differs', id);
}
