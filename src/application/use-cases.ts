import { type CreatePlant, createPlant } from './create-plant.ts';
import type { AddPlant } from './ports.ts';

/** Everything the application does, for the driving adapters. */
export interface UseCases {
  readonly createPlant: CreatePlant;
}

/** Everything the use cases need from driven adapters. */
export type Ports = AddPlant;

export function useCases(ports: Ports): UseCases {
  return { createPlant: createPlant(ports) };
}
