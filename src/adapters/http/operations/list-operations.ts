import type { UseCases } from '../../../application/use-cases.ts';
import { LENGTH_MAX } from '../../../domain/plant.ts';
import { separators } from '../../../formats/csv.js';
import { Changes, PlantCount, PlantList, TagList } from '../../../formats/schemas.ts';
import { HttpError, JSON_TYPE } from '../errors.ts';
import { type Operation, operation } from './operation.ts';
import { choice, cursor, decimal, type Parameter, plantId, storableText } from './parameters.ts';
import { plantsGroup } from './plant-operations.ts';
import { CSV_TYPE, jsonResponse, listResponse } from './responses.ts';

const tagFilter = storableText('only plants with exactly this tag, which may be empty', LENGTH_MAX.tag);
const nameFilter = storableText(
  'only plants whose names contain this text, letters of either case alike: `rosa` is in `Primrosa` and in `Rosa ' +
    'canina`. There is no index, so a page that has been searched for a second ends early, perhaps empty, with a Link',
  100,
);
const afterId = plantId('only plants with larger ids than this, or smaller ones with `order=desc`');
const idOrder = choice('whether ids ascend, as they do if it is not given, or descend', ['asc', 'desc']);
const csvSeparator = choice('what separates the cells of CSV; a comma if it is not given', separators);

/** Any int32 is accepted, since clients of public stores send any. */
const listLimit = decimal('the largest number of plants to send; without it, all are sent', 1, 2 ** 31 - 1, 100);

const NEEDS_CHUNKS =
  'a stream of lines needs the chunks of HTTP/1.1, which show whether it is complete: ' +
  'use HTTP/1.1, a smaller limit or application/json';

/** The items of a page, unless its request has a limit. */
const LIMIT_DEFAULT = 100;

function pageLimit(items: string): Parameter<number> {
  const description = `the largest number of ${items} to send; ${LIMIT_DEFAULT} if it is not given`;
  return decimal(description, 1, 1_000, LIMIT_DEFAULT);
}

/** Encodes a tag as a text for URLs that is never empty. */
const placeOf = (tag: string) => `t${Buffer.from(tag).toString('base64url')}`;

const afterTag = cursor(
  'the `next` of the last response; without it, the tags from the first on',
  'the "next" of an earlier response of /tags',
  (text) => {
    const tag = Buffer.from(text.slice(1), 'base64url').toString();
    return placeOf(tag) === text && !tag.includes('\0') ? tag : undefined;
  },
);

const changesGroup = { name: 'Plants over time', description: 'What happens to them, for consumers that follow it.' };

const afterChange = cursor(
  'the `next` of the last response, or `now` to begin at the end; without it, the feed begins with the first plant',
  'the "next" of an earlier response, or now',
);

/** The operations that list plants, tags and changes, or count plants. */
export function listOperations({ listPlants, countPlants, listTags, readChanges }: UseCases): Operation[] {
  return [
    operation({
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
        limit: listLimit,
        after: afterId,
        order: idOrder,
        tag: tagFilter,
        name: nameFilter,
        separator: csvSeparator,
      },
      response: listResponse(PlantList),
      limit: ({ name }) => (name ? 'search' : undefined),
      async handle({ query, responseType, httpVersion, signal }) {
        const { limit, order, tag, separator } = query;
        const name = query.name || undefined;
        if (separator !== undefined && responseType !== CSV_TYPE) {
          throw new HttpError('invalid_request', `separator must be left out unless Accept prefers ${CSV_TYPE}`);
        }
        const { first, batches, next } = await listPlants({ ...query, name, signal: signal() });
        if (batches !== undefined && responseType !== JSON_TYPE && httpVersion === '1.0') {
          throw new HttpError('not_acceptable', NEEDS_CHUNKS);
        }
        const parameters = Object.entries({ limit, after: next, order, tag, name, separator });
        const present = parameters.flatMap(([key, value]) => (value === undefined ? [] : [[key, `${value}`]]));
        const nextUrl = next === undefined ? undefined : `?${new URLSearchParams(present)}`;
        return { first, batches, nextUrl, separator: separator ?? ',' };
      },
    }),
    operation({
      operationId: 'countPlants',
      method: 'GET',
      path: '/plants/count',
      permission: 'read',
      group: plantsGroup,
      summary: 'Count plants',
      description: 'It stops at 10,000 plants, or after a second: see `isExact`.',
      query: { tag: tagFilter, name: nameFilter },
      response: jsonResponse(PlantCount),
      limit: () => 'search',
      handle: ({ query: { tag, name }, signal }) => countPlants({ tag, name: name || undefined, signal: signal() }),
    }),
    operation({
      operationId: 'listTags',
      method: 'GET',
      path: '/tags',
      permission: 'read',
      group: plantsGroup,
      summary: 'List tags',
      description:
        'The tags that plants have, in the order of their UTF-8, each with the number of its plants up to 1,000. Go on ' +
        'with `next` until there is none; a page ends early once it has taken a second.',
      query: { limit: pageLimit('tags'), after: afterTag },
      response: jsonResponse(TagList),
      statuses: [501],
      limit: () => 'search',
      async handle({ query: { limit = LIMIT_DEFAULT, after }, signal }) {
        const { tags, next } = await listTags(after, limit, signal());
        return { tags, ...(next !== undefined && { next: placeOf(next) }) };
      },
    }),
    operation({
      operationId: 'listChanges',
      method: 'GET',
      path: '/changes',
      permission: 'read',
      group: changesGroup,
      summary: 'Follow the changes',
      description:
        'The newest state of each plant that was created, changed or deleted after a position, from the first one on ' +
        'if none is given. Go on with `next` for ever; `atEnd` says that nothing more is there yet. Nothing is ever ' +
        'left out, but a change may come more than once.',
      query: {
        after: afterChange,
        limit: pageLimit('changes'),
        wait: decimal('how many seconds to wait for a change if nothing is new', 0, 30),
      },
      response: jsonResponse(Changes),
      statuses: [410, 501],
      limit: () => 'wait',
      handle: ({ query: { after, limit = LIMIT_DEFAULT, wait = 0 }, signal }) =>
        readChanges({ after, limit, wait: wait * 1_000, signal: signal() }),
    }),
  ];
}
