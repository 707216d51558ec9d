import { PlantStoreError } from '../domain/errors.ts';
import { checkNewPlant, isSamePlant, type NewPlant } from '../domain/plant.ts';
import { existing } from './find-plant.ts';
import type { FindPlant, ChangePlant as Plants } from './ports.ts';

/** Whether the stored plant is as the client expects. */
export type Condition = (stored: NewPlant) => boolean;

/**
 * Replaces name and tag of the plant that has the id, and resolves to it once that is durable. Replacing them with the
 * same again succeeds and changes nothing, whatever the condition.
 *
 * @param condition which plant may be replaced; undefined for any
 * @throws PlantStoreError `invalid_plant` if a field breaks its rule, `plant_not_found`, `plant_deleted`,
 * `plant_differs` if the condition is not met, `store_unavailable` as the port does, or if others change it all the time
 */
export type ChangePlant = (plant: NewPlant, condition?: Condition) => Promise<NewPlant>;

export function changePlant(plants: Plants & FindPlant): ChangePlant {
  return async (plant, condition) => {
    checkNewPlant(plant);
    let expected = condition && existing(plant.id, await plants.find(plant.id));
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (expected !== undefined && !isSamePlant(expected, plant)) requireCondition(expected, condition);
      const stored = existing(plant.id, await plants.replace(plant, expected));
      if (isSamePlant(stored, plant)) return stored;
      // Somebody else has changed it meanwhile.
      expected = condition && stored;
    }
    throw changedTooOften(plant.id);
  };
}

/** How often somebody else may change a plant just before it is changed here. */
export const ATTEMPTS = 20;

export function changedTooOften(id: bigint): PlantStoreError {
  const message = `the plant with the id ${id} keeps changing; sending the same request again is safe`;
  return new PlantStoreError('store_unavailable', message);
}

/** @throws PlantStoreError `plant_differs` */
export function requireCondition(stored: NewPlant, condition: Condition | undefined): void {
  if (condition === undefined || condition(stored)) return;
  throw new PlantStoreError('plant_differs', `the plant with the id ${stored.id} is not the one of If-Match`);
}
