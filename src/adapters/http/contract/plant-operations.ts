import Type from 'typebox';
import type { Condition } from '../../../application/ports.ts';
import type { UseCases } from '../../../application/use-cases.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { isStorableText } from '../../../domain/plant.ts';
import { jsonEncoder } from '../../../wire/json-encoder.ts';
import { separators } from '../../../wire/lists/csv-cells.ts';
import { parsePlantId, plantIdRule } from '../../../wire/plant-id.ts';
import { ChangedPlant, NewPlant, Plant, PlantId, PlantList, sameIdRule } from '../../../wire/schemas.ts';
import { etagOf, type Preconditions } from './etag.ts';
import { jsonBody, noBody, type Operation, operation } from './operation.ts';
import { choice, decimal, type Parameter } from './parameters.ts';
import { CSV_TYPE, cacheableResponse, emptyResponse, jsonResponse, listResponse, taggedResponse } from './responses.ts';

export const plantsTag = { name: 'Plants', description: 'What the store keeps.' };

const id = { mustBe: plantIdRule, schema: PlantId, parse: parsePlantId };
export const plantId: Parameter<bigint> = { ...id, description: 'the id of the plant' };
const afterId: Parameter<bigint> = { ...id, description: 'only plants with larger ids than this' };
const tagFilter: Parameter<string> = {
  description: 'only plants with exactly this tag, which may be empty',
  mustBe: 'a string without U+0000',
  schema: Type.String(),
  parse: (text) => (isStorableText(text) ? text : undefined),
};

const csvSeparator = choice('what separates the cells of CSV; a comma if it is not given', separators);

/** Any int32, as clients of public stores send it. */
const LIMIT = { description: 'the largest number of plants to send; without it, all are sent', example: 100 };

/** The operations on plants. */
export function plantOperations(cases: UseCases): Operation[] {
  const { createPlant, findPlant, changePlant, deletePlant, listPlants } = cases;
  return [
    operation({
      operationId: 'listPlants',
      method: 'GET',
      path: '/plants',
      permission: 'read',
      tag: plantsTag,
      summary: 'List plants',
      description:
        'In ascending order of id. With a `limit` of up to 1000, the header `Link` has the next page. More are sent ' +
        'as a stream, without it: go on `after` the last id until fewer than `limit` come. Without `limit`, all ' +
        'plants are sent. A response that ends early is broken off: go on `after` the last id that arrived. As ' +
        'application/x-ndjson, each line is one NewPlant; text/csv has a line that names the columns id, name and tag.',
      query: { limit: decimal(LIMIT, 1, 2 ** 31 - 1), after: afterId, tag: tagFilter, separator: csvSeparator },
      body: noBody,
      response: listResponse(PlantList),
      errors: [],
      async handle({ query, type }) {
        const { limit, tag, separator } = query;
        if (separator !== undefined && type !== CSV_TYPE) {
          throw new PlantStoreError('invalid_plant', `separator must be left out unless Accept prefers ${CSV_TYPE}`);
        }
        const { first, others, next } = await listPlants(query);
        const same = parameter('tag', tag) + parameter('separator', separator);
        const nextUrl = next === undefined ? undefined : `?limit=${limit}&after=${next}${same}`;
        return { first, others, nextUrl, separator: separator ?? ',' };
      },
    }),
    operation({
      operationId: 'createPlant',
      method: 'POST',
      path: '/plants',
      permission: 'create',
      tag: plantsTag,
      summary: 'Create a plant',
      description: 'The same record sent again answers 200 again and changes nothing. Unknown members are ignored.',
      body: jsonBody(NewPlant),
      response: jsonResponse(Plant),
      errors: ['id_taken', 'id_retired'],
      handle: ({ body }) => createPlant(body),
    }),
    operation({
      operationId: 'findPlant',
      method: 'GET',
      path: '/plants/{id}',
      permission: 'read',
      tag: plantsTag,
      summary: 'Read a plant',
      description: 'The whole record, as it was sent to create it.',
      parameters: { id: plantId },
      query: {},
      body: noBody,
      response: cacheableResponse(NewPlant),
      errors: ['plant_not_found', 'plant_deleted'],
      handle: ({ path: { id } }) => findPlant(id),
    }),
    operation({
      operationId: 'changePlant',
      method: 'PUT',
      path: '/plants/{id}',
      permission: 'change',
      tag: plantsTag,
      summary: 'Change a plant',
      description:
        'Replaces the name and the tag of a plant that exists; without `tag` it has none then. So a member that ' +
        'ChangedPlant does not name, which may be a misspelt `tag`, is refused. The same again answers 200 again and ' +
        'changes nothing, whatever If-Match says, unless If-None-Match excludes it.',
      parameters: { id: plantId },
      query: {},
      isConditional: true,
      body: jsonBody(ChangedPlant),
      response: taggedResponse(NewPlant),
      errors: ['plant_not_found', 'plant_deleted', 'plant_differs'],
      async handle({ path: { id }, body, preconditions }) {
        const wanted = { ...body, id };
        if (body.id !== undefined && body.id !== id) {
          throw new PlantStoreError('invalid_plant', `id must be ${sameIdRule}`);
        }
        const condition = conditionOf(preconditions);
        if (condition === undefined) return changePlant(wanted);
        let isSame = true;
        const plant = await changePlant(wanted, (stored) => {
          isSame = false;
          return condition(stored);
        });
        // Equal content meets any If-Match (RFC 9110 section 13.1.1), but section 13.1.2 has no such exception.
        if (isSame && preconditions?.exclude(etagOf(encode(plant)))) {
          const message = `the plant with the id ${id} is so already, which If-None-Match excludes`;
          throw new PlantStoreError('plant_differs', message);
        }
        return plant;
      },
    }),
    operation({
      operationId: 'deletePlant',
      method: 'DELETE',
      path: '/plants/{id}',
      permission: 'change',
      tag: plantsTag,
      summary: 'Delete a plant',
      description:
        'Its id stays taken, so that a late retry of its creation cannot bring it back. Deleting it again answers ' +
        '204 again, whatever If-Match and If-None-Match say.',
      parameters: { id: plantId },
      query: {},
      isConditional: true,
      body: noBody,
      response: emptyResponse,
      errors: ['plant_not_found', 'plant_differs'],
      handle: ({ path: { id }, preconditions }) => deletePlant(id, conditionOf(preconditions)),
    }),
  ];
}

/** A further parameter of a link, as short as most clients write it: URLSearchParams escapes more than is necessary. */
function parameter(name: string, text: string | undefined): string {
  return text === undefined ? '' : `&${name}=${encodeURIComponent(text).replaceAll('%20', '+')}`;
}

const encode = jsonEncoder(NewPlant);

/** The condition that the entity tag with which a plant is read meets the preconditions. */
function conditionOf(preconditions: Preconditions | undefined): Condition | undefined {
  return preconditions && ((plant) => preconditions.allow(etagOf(encode(plant))));
}
