import type { NewPlant } from '../domain/plant.ts';

/** Adds plants to the store. */
export interface AddPlant {
  /**
   * Stores the plant unless its id is taken, and resolves, once that is durable, to the record that now holds the
   * id: the given one, or the one that was there before, untouched. Of racing calls with one id exactly one stores,
   * and all resolve to its record. Calling it again with the same plant is safe, whatever became of the first call.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot answer now; the plant may or may not
   * have been stored then. Any other rejection is a defect.
   */
  add(plant: NewPlant): Promise<NewPlant>;
}

/** Whether an access token is good. MUST reject with PlantStoreError `token_unverifiable` if that cannot be known now. */
export type TokenVerifier = (token: string) => boolean | Promise<boolean>;
