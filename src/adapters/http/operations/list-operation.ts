import Type from 'typebox';
import type { UseCases } from '../../../application/use-cases.ts';
import { isStorableText, MAX_LENGTH } from '../../../domain/plant.ts';
import { separators } from '../../../formats/csv.js';
import { PlantList } from '../../../formats/schemas.ts';
import { HttpError, JSON_TYPE } from '../errors.ts';
import { type Operation, operation } from './operation.ts';
import { choice, decimal, type Parameter } from './parameters.ts';
import { idParameter, plantsGroup } from './plant-operations.ts';
import { CSV_TYPE, listResponse } from './responses.ts';

const afterId: Parameter<bigint> = {
  ...idParameter,
  description: 'only plants with larger ids than this, or smaller ones with `order=desc`',
};
export const tagFilter: Parameter<string> = {
  description: 'only plants with exactly this tag, which may be empty',
  mustBe: `a string of at most ${MAX_LENGTH.tag} characters without U+0000`,
  schema: Type.String({ maxLength: MAX_LENGTH.tag }),
  parse: (text) => (isStorableText(text, MAX_LENGTH.tag) ? text : undefined),
};

/** The most characters of a text to search for. */
const TEXT_LENGTH_MAX = 100;

export const nameFilter: Parameter<string> = {
  description:
    'only plants whose names contain this text, letters of either case alike: `rosa` is in `Primrosa` and in `Rosa ' +
    'canina`. There is no index, so a page that has been searched for a second ends early, perhaps empty, with a Link',
  mustBe: `a string of at most ${TEXT_LENGTH_MAX} characters without U+0000`,
  schema: Type.String({ maxLength: TEXT_LENGTH_MAX }),
  parse: (text) => (isStorableText(text, TEXT_LENGTH_MAX) ? text : undefined),
};

const idOrder = choice('whether ids ascend, as they do if it is not given, or descend', ['asc', 'desc']);

const csvSeparator = choice('what separates the cells of CSV; a comma if it is not given', separators);

/** Any int32 is accepted, since clients of public stores send any. */
const LIMIT = { description: 'the largest number of plants to send; without it, all are sent', example: 100 };

const NEEDS_CHUNKS =
  'a stream of lines needs the chunks of HTTP/1.1, which show whether it is complete: ' +
  'use HTTP/1.1, a smaller limit or application/json';

/** The operation that lists plants. */
export function listOperation({ listPlants }: Pick<UseCases, 'listPlants'>): Operation {
  return operation({
    operationId: 'listPlants',
    method: 'GET',
    path: '/plants',
    permission: 'read',
    group: plantsGroup,
    summary: 'List plants',
    description:
      'In ascending order of id, or descending with `order=desc`. With a `limit` of up to 1000, the header `Link` has the next page. More are sent ' +
      'as a stream, without it: go on `after` the last id until fewer than `limit` come. Without `limit`, all ' +
      'plants are sent. A response that ends early is broken off: go on `after` the last id that arrived. As ' +
      'application/x-ndjson, each line is one NewPlant; text/csv has a line that names the columns id, name and tag.',
    query: {
      limit: decimal(LIMIT, 1, 2 ** 31 - 1),
      after: afterId,
      order: idOrder,
      tag: tagFilter,
      name: nameFilter,
      separator: csvSeparator,
    },
    response: listResponse(PlantList),
    limits: ({ name }) => (name ? 'search' : undefined),
    async handle({ query, type, httpVersion, signal }) {
      const { limit, order, tag, separator } = query;
      const name = query.name || undefined;
      if (separator !== undefined && type !== CSV_TYPE) {
        throw new HttpError('invalid_request', `separator must be left out unless Accept prefers ${CSV_TYPE}`);
      }
      const { first, batches, next } = await listPlants({ ...query, name, signal: signal() });
      if (batches !== undefined && type !== JSON_TYPE && httpVersion === '1.0') {
        throw new HttpError('not_acceptable', NEEDS_CHUNKS);
      }
      const parameters = Object.entries({ limit, after: next, order, tag, name, separator });
      const present = parameters.flatMap(([key, value]) => (value === undefined ? [] : [[key, `${value}`]]));
      const nextUrl = next === undefined ? undefined : `?${new URLSearchParams(present)}`;
      return { first, batches, nextUrl, separator: separator ?? ',' };
    },
  });
}
