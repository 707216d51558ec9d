import type { UseCases } from '../../../application/use-cases.ts';
import { NewPlant, Plant } from '../../../wire/schemas.ts';
import { jsonBody, type Operation, operation } from './operation.ts';

const tag = { name: 'Plants', description: 'The plants in the store.' };

export function plantOperations({ createPlant }: UseCases): Operation[] {
  return [
    operation({
      operationId: 'createPlant',
      method: 'POST',
      path: '/plants',
      tag,
      summary: 'Create a plant',
      description: 'Sending the same record again returns 200 again and changes nothing.',
      body: jsonBody(NewPlant),
      response: Plant,
      errors: ['id_taken'],
      handle: ({ body }) => createPlant(body),
    }),
  ];
}
