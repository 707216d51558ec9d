import type { Condition } from '../../../application/change-plant.ts';
import type { UseCases } from '../../../application/use-cases.ts';
import { jsonEncoder } from '../../../wire/json-encoder.ts';
import { NewPlant, Plant, PlantList } from '../../../wire/schemas.ts';
import { etagOf } from './etag.ts';
import { jsonBody, noBody, type Operation, operation } from './operation.ts';
import { afterId, limit, plantId, tagFilter } from './plant-parameters.ts';
import { cacheableResponse, emptyResponse, jsonResponse, listResponse, taggedResponse } from './responses.ts';

const tag = { name: 'Plants', description: 'What the store keeps.' };

/** The operations on plants. */
export function plantOperations(cases: UseCases): Operation[] {
  const { createPlant, findPlant, changePlant, deletePlant, listPlants } = cases;
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
        const sameTag = tag === undefined ? '' : `&tag=${encoded(tag)}`;
        return { first, others, nextUrl: next === undefined ? undefined : `?limit=${wanted}&after=${next}${sameTag}` };
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
      errors: ['id_taken', 'id_retired'],
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
      errors: ['plant_not_found', 'plant_deleted', 'not_acceptable'],
      handle: ({ path }) => findPlant(path(plantId)),
    }),
    operation({
      operationId: 'changePlant',
      method: 'PUT',
      path: '/plants/{id}',
      permission: 'change',
      tag,
      summary: 'Change a plant',
      description:
        'Replaces the name and the tag of a plant that exists; without `tag` it has none then. The same again answers ' +
        '200 again and changes nothing, whatever If-Match says.',
      parameters: [plantId],
      query: [],
      isConditional: true,
      body: jsonBody(Plant),
      response: taggedResponse(NewPlant),
      errors: ['plant_not_found', 'plant_deleted', 'plant_differs'],
      handle: ({ path, body, mayChange }) => changePlant({ id: path(plantId), ...body }, onlyIf(mayChange)),
    }),
    operation({
      operationId: 'deletePlant',
      method: 'DELETE',
      path: '/plants/{id}',
      permission: 'change',
      tag,
      summary: 'Delete a plant',
      description:
        'Its id stays taken, so that a late retry of its creation cannot bring it back. Deleting it again answers 204 ' +
        'again, whatever If-Match says.',
      parameters: [plantId],
      query: [],
      isConditional: true,
      body: noBody,
      response: emptyResponse,
      errors: ['plant_not_found', 'plant_differs'],
      handle: ({ path, mayChange }) => deletePlant(path(plantId), onlyIf(mayChange)),
    }),
  ];
}

/** As short as most clients write it: URLSearchParams makes three characters of some that need no escape. */
function encoded(parameter: string): string {
  return encodeURIComponent(parameter).replaceAll('%20', '+');
}

const encode = jsonEncoder(NewPlant);

/** The condition that a plant has one of the entity tags with which it is read. */
function onlyIf(mayChange: ((etag: string) => boolean) | undefined): Condition | undefined {
  return mayChange && ((plant) => mayChange(etagOf(encode(plant))));
}
