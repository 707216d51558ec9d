import { PlantStoreError } from '../domain/errors.ts';
import { isSamePlant, type NewPlant, type Plant, validatePlant } from '../domain/plant.ts';
import type { PlantRepository } from './ports.ts';

/**
 * Creates a plant and resolves to it once it is durable. Creating the same record again succeeds and changes nothing.
 *
 * @throws PlantStoreError `invalid_plant` if a field breaks its rule, `id_taken` if the id belongs to a different
 * plant, `id_retired` if it belongs to a deleted one, `store_unavailable` if the port rejects with it.
 */
export type CreatePlant = (newPlant: NewPlant) => Promise<Plant>;

export function createPlant(plants: Pick<PlantRepository, 'add'>): CreatePlant {
  return async (newPlant) => {
    const outcome = await plants.add(validatePlant(newPlant));
    if (outcome === 'deleted') throw new PlantStoreError('id_retired', newPlant.id);
    if (outcome !== 'created' && !isSamePlant(outcome, newPlant)) throw new PlantStoreError('id_taken', newPlant.id);
    const { id: _, ...plant } = newPlant;
    return plant;
  };
}
