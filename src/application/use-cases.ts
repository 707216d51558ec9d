import { type CreatePlant, createPlant } from './create-plant.ts';
import { type FindPlant, findPlant } from './find-plant.ts';
import { type ListPlants, listPlants } from './list-plants.ts';
import type * as ports from './ports.ts';

/** Everything the application does, for the driving adapters. */
export interface UseCases {
  readonly createPlant: CreatePlant;
  readonly findPlant: FindPlant;
  readonly listPlants: ListPlants;
}

/** Everything the use cases need from driven adapters. */
export type Ports = ports.AddPlant & ports.FindPlant & ports.ReadPlants;

export function useCases(plants: Ports): UseCases {
  return { createPlant: createPlant(plants), findPlant: findPlant(plants), listPlants: listPlants(plants) };
}
