import Type from 'typebox';
import type { UseCases } from '../../../application/use-cases.ts';
import { Changes } from '../../../wire/schemas.ts';
import { noBody, type Operation, operation } from './operation.ts';
import { decimal, type Parameter } from './parameters.ts';
import { changesResponse } from './responses.ts';

const tag = { name: 'Plants over time', description: 'What happens to them, for consumers that follow it.' };

const DEFAULT_LIMIT = 100;

/** How many changes a response has at most. */
const limit = decimal('limit', 1, 1_000);

/** How long to wait for a change, in seconds. */
const wait = decimal('wait', 0, 30);

/** Where the consumer is. */
const after: Parameter<string> = {
  name: 'after',
  mustBe: 'the "next" of an earlier response',
  schema: Type.String(),
  parse: (text) => text,
};

/** The operations on the feed of changes. */
export function changeOperations({ readChanges }: Pick<UseCases, 'readChanges'>): Operation[] {
  return [
    operation({
      operationId: 'listChanges',
      method: 'GET',
      path: '/changes',
      permission: 'read',
      tag,
      summary: 'Follow the changes',
      description:
        'The newest state of each plant that was created, changed or deleted after a position, from the first one on ' +
        'if none is given. Go on with `next` for ever; an empty list means that nothing is new. Nothing is ever left ' +
        'out, but a change may come more than once. With `wait`, the response to an empty list comes with the next ' +
        `change, or after so many seconds. \`limit\` is ${DEFAULT_LIMIT} if it is not given.`,
      query: [after, limit, wait],
      mayWait: true,
      body: noBody,
      response: changesResponse(Changes),
      errors: ['cursor_expired', 'changes_unavailable', 'not_acceptable'],
      handle: ({ query, signal }) =>
        readChanges({
          after: query(after),
          limit: query(limit) ?? DEFAULT_LIMIT,
          wait: (query(wait) ?? 0) * 1_000,
          signal: signal(),
        }),
    }),
  ];
}
