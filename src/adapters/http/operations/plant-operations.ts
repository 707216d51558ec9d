import type { UseCases } from '../../../application/use-cases.ts';
import { NewPlant, Plant } from '../../../wire/schemas.ts';
import { jsonBody, type Operation, operation } from './operation.ts';

const tag = { name: 'Plants', description: 'What the store keeps.' };

/** The operations on plants. */
export function plantOperations({ createPlant }: UseCases): Operation[] {
  return [
    operation({
      operationId: 'createPlant',
      method: 'POST',
      path: '/plants',
      tag,
      summary: 'Create a plant',
      description: 'The same record sent again answers 200 again and changes nothing.',
      body: jsonBody(NewPlant),
      response: Plant,
      errors: ['id_taken'],
      handle: ({ body }) => createPlant(body),
    }),
  ];
}
