import type { UseCases } from '../../../application/use-cases.ts';
import { PlantCount, TagList } from '../../../formats/schemas.ts';
import { nameFilter, tagFilter } from './list-operation.ts';
import { type Operation, operation } from './operation.ts';
import { cursor, DEFAULT_LIMIT, type Parameter, pageLimit } from './parameters.ts';
import { plantsGroup } from './plant-operations.ts';
import { jsonResponse } from './responses.ts';

/** Encodes a tag as a text for URLs that is never empty. */
const placeOf = (tag: string) => `t${Buffer.from(tag).toString('base64url')}`;

const after: Parameter<string> = {
  ...cursor(
    'the `next` of the last response; without it, the tags from the first on',
    'the "next" of an earlier response of /tags',
  ),
  parse(text) {
    const tag = Buffer.from(text.slice(1), 'base64url').toString();
    return placeOf(tag) === text && !tag.includes('\0') ? tag : undefined;
  },
};

/** The operations that count plants and list tags, in bounds. */
export function overviewOperations({ countPlants, listTags }: Pick<UseCases, 'countPlants' | 'listTags'>): Operation[] {
  return [
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
      limits: () => 'search',
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
      query: { limit: pageLimit('tags'), after },
      response: jsonResponse(TagList),
      statuses: [501],
      limits: () => 'search',
      async handle({ query: { limit = DEFAULT_LIMIT, after }, signal }) {
        const { tags, next } = await listTags(after, limit, signal());
        return { tags, ...(next !== undefined && { next: placeOf(next) }) };
      },
    }),
  ];
}
