import { type CreatePlant, createPlant } from './create-plant.ts';
import { type FindPlant, findPlant } from './find-plant.ts';
import { type ListPlants, listPlants } from './list-plants.ts';
import type * as ports from './ports.ts';

/** All that the application does, as the driving adapters see it. */
export interface UseCases {
  readonly createPlant: CreatePlant;
  readonly findPlant: FindPlant;
  readonly listPlants: ListPlants;
}

/** All that the application needs of the world. */
export type Ports = ports.AddPlant & ports.FindPlant & ports.ReadPlants;

export function useCases(plants: Ports): UseCases {
  return { createPlant: createPlant(plants), findPlant: findPlant(plants), listPlants: listPlants(plants) };
}
