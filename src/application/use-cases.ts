import { type CreatePlant, createPlant } from './create-plant.ts';
import type { AddPlant } from './ports.ts';

/** All that the application does, as the driving adapters see it. */
export interface UseCases {
  readonly createPlant: CreatePlant;
}

/** All that the application needs of the world. */
export type Ports = AddPlant;

export function useCases(ports: Ports): UseCases {
  return { createPlant: createPlant(ports) };
}
