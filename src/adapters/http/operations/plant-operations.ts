import type { UseCases } from '../../../application/use-cases.ts';
import { NewPlant, Plant, PlantList } from '../../../wire/schemas.ts';
import { jsonBody, noBody, type Operation, operation } from './operation.ts';
import { afterId, limit, plantId, tagFilter } from './plant-parameters.ts';
import { cacheableResponse, jsonResponse, listResponse } from './responses.ts';

const tag = { name: 'Plants', description: 'What the store keeps.' };

/** The operations on plants. */
export function plantOperations({ createPlant, findPlant, listPlants }: UseCases): Operation[] {
  return [
    operation({
      operationId: 'listPlants',
      method: 'GET',
      path: '/plants',
      permission: 'read',
      tag,
      summary: 'List plants',
      description:
        'In ascending order of id. With `limit`, the header `Link` has the next page; without it, all plants are sent ' +
        'as a stream. A response that ends early is broken off: go on `after` the last id that arrived.',
      query: [limit, afterId, tagFilter],
      body: noBody,
      response: listResponse(NewPlant, PlantList),
      errors: ['not_acceptable'],
      async handle({ query }) {
        const [wanted, tag] = [query(limit), query(tagFilter)];
        const { first, others, next } = await listPlants({ limit: wanted, after: query(afterId), tag });
        const nextQuery = { limit: `${wanted}`, after: `${next}`, ...(tag !== undefined && { tag }) };
        return { first, others, nextUrl: next === undefined ? undefined : `?${new URLSearchParams(nextQuery)}` };
      },
    }),
    operation({
      operationId: 'createPlant',
      method: 'POST',
      path: '/plants',
      permission: 'create',
      tag,
      summary: 'Create a plant',
      description: 'The same record sent again answers 200 again and changes nothing.',
      body: jsonBody(NewPlant),
      response: jsonResponse(Plant),
      errors: ['id_taken'],
      handle: ({ body }) => createPlant(body),
    }),
    operation({
      operationId: 'findPlant',
      method: 'GET',
      path: '/plants/{id}',
      permission: 'read',
      tag,
      summary: 'Read a plant',
      description: 'The whole record, as it was sent to create it.',
      parameters: [plantId],
      query: [],
      body: noBody,
      response: cacheableResponse(NewPlant),
      errors: ['plant_not_found', 'not_acceptable'],
      handle: ({ path }) => findPlant(path(plantId)),
    }),
  ];
}
