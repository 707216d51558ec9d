import type { TObject } from 'typebox';
import type { UseCases } from '../../../application/use-cases.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { jsonParser } from '../../../formats/json-parser.ts';
import { ChangedPlant, NewPlant, PLANT_BYTES_MAX, Plant, sameIdRule } from '../../../formats/schemas.ts';
import { JSON_TYPE } from '../errors.ts';
import { type Operation, operation } from './operation.ts';
import { plantId } from './parameters.ts';
import { jsonResponse, plantWithETag } from './responses.ts';

export const plantsGroup = { name: 'Plants', description: 'What the store keeps.' };

const idInPath = plantId('the id of the plant', 1);

/** A body of JSON that the schema describes. */
function jsonBody<Schema extends TObject>(schema: Schema) {
  return { content: { [JSON_TYPE]: schema }, bytesMax: PLANT_BYTES_MAX, parse: jsonParser(schema) };
}

/** The operations on single plants. */
export function plantOperations(cases: UseCases): Operation[] {
  const { createPlant, findPlant, changePlant, deletePlant } = cases;
  return [
    operation({
      operationId: 'createPlant',
      method: 'POST',
      path: '/plants',
      permission: 'create',
      group: plantsGroup,
      summary: 'Create a plant',
      description:
        'The same record sent again gets 200 again and changes nothing. Unknown members are ignored. The client chooses ' +
        'the id: the key of the plant in a database of its own, the next number of a sequence, or a snowflake. Where ' +
        'JavaScript reads ids without care, at most 9007199254740991 (53 bits).',
      body: jsonBody(NewPlant),
      response: jsonResponse(Plant),
      handle: ({ body }) => createPlant(body),
    }),
    operation({
      operationId: 'findPlant',
      method: 'GET',
      path: '/plants/{id}',
      permission: 'read',
      group: plantsGroup,
      summary: 'Read a plant',
      description: 'The whole record, as it was sent to create it.',
      parameters: { id: idInPath },
      query: {},
      response: plantWithETag(NewPlant, true),
      statuses: [404, 410],
      handle: ({ path: { id } }) => findPlant(id),
    }),
    operation({
      operationId: 'changePlant',
      method: 'PUT',
      path: '/plants/{id}',
      permission: 'change',
      group: plantsGroup,
      summary: 'Change a plant',
      description:
        'Replaces the name and the tag of a plant that exists; without `tag` it has none then. So a member that ' +
        'ChangedPlant does not name, which may be a misspelt `tag`, is refused. The same again gets 200 again and ' +
        'changes nothing, whatever If-Match says, unless If-None-Match excludes it.',
      parameters: { id: idInPath },
      query: {},
      isConditional: true,
      body: jsonBody(ChangedPlant),
      response: plantWithETag(NewPlant),
      statuses: [404, 410, 412],
      async handle({ path: { id }, body, precondition }) {
        if (body.id !== undefined && body.id !== id) {
          throw new PlantStoreError('invalid_plant', `id must be ${sameIdRule}`);
        }
        return changePlant({ ...body, id }, precondition);
      },
    }),
    operation({
      operationId: 'deletePlant',
      method: 'DELETE',
      path: '/plants/{id}',
      permission: 'change',
      group: plantsGroup,
      summary: 'Delete a plant',
      description:
        'Its id stays taken, so that a late retry of its creation cannot bring it back. Deleting it again answers ' +
        '204 again, whatever If-Match and If-None-Match say.',
      parameters: { id: idInPath },
      query: {},
      isConditional: true,
      statuses: [404, 412],
      handle: ({ path: { id }, precondition }) => deletePlant(id, precondition),
    }),
  ];
}
