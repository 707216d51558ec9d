import { createPlant } from './create-plant.ts';
import { findPlant } from './find-plant.ts';
import { listPlants } from './list-plants.ts';
import type * as ports from './ports.ts';

/** Everything the use cases need from driven adapters. */
export type Ports = ports.AddPlant & ports.FindPlant & ports.ReadPlants;

/** Everything the application does, for the driving adapters. */
export function useCases(plants: Ports) {
  return { createPlant: createPlant(plants), findPlant: findPlant(plants), listPlants: listPlants(plants) };
}

export type UseCases = ReturnType<typeof useCases>;
