import type { CreatePlant } from '../../application/create-plant.ts';
import { type Operation, operation } from './operation.ts';
import { NewPlant, Plant } from './schemas.ts';

const plants = { name: 'Plants', description: 'What the store keeps.' };

/** The operations on plants. */
export function plantRoutes({ createPlant }: { readonly createPlant: CreatePlant }): Operation[] {
  return [
    operation({
      method: 'post',
      path: '/plants',
      operationId: 'createPlant',
      tag: plants,
      summary: 'Create a plant',
      description: 'The same record sent again answers 200 again and changes nothing.',
      request: NewPlant,
      response: Plant,
      handle: createPlant,
    }),
  ];
}
