import type { NewPlant } from '../domain/plant.ts';

export interface AddPlant {
  /**
   * Stores the plant unless its id is taken. Resolves, once durable, to the record that holds the id: the given one, or
   * the existing one, unchanged. Of concurrent calls with one id exactly one stores its plant, and all resolve to that
   * record. Calling it again with the same plant is safe, whatever the outcome of the first call.
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now; the plant may or may not have
   * been stored. Any other rejection is a defect.
   */
  add(plant: NewPlant): Promise<NewPlant>;
}

/** Whether a token is accepted. MUST reject with PlantStoreError `token_unverifiable` if that cannot be known now. */
export type TokenVerifier = (token: string) => boolean | Promise<boolean>;
