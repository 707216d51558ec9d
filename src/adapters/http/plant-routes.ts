import type { CreatePlant } from '../../application/create-plant.ts';
import { type Operation, operation } from './operation.ts';
import { NewPlant, Plant } from './schemas.ts';

/** The operations on plants. */
export function plantRoutes({ createPlant }: { readonly createPlant: CreatePlant }): Operation[] {
  return [
    operation({
      method: 'post',
      path: '/plants',
      operationId: 'createPlant',
      summary: 'Create a plant. The same record sent again answers 200 again and changes nothing.',
      request: NewPlant,
      response: Plant,
      handle: createPlant,
    }),
  ];
}
