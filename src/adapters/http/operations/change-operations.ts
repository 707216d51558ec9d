import type { UseCases } from '../../../application/use-cases.ts';
import { Changes } from '../../../formats/schemas.ts';
import { type Operation, operation } from './operation.ts';
import { cursor, DEFAULT_LIMIT, decimal, pageLimit } from './parameters.ts';
import { jsonResponse } from './responses.ts';

const group = { name: 'Plants over time', description: 'What happens to them, for consumers that follow it.' };

const wait = decimal({ description: 'how many seconds to wait for a change if nothing is new' }, 0, 30);

const after = cursor(
  'the `next` of the last response, or `now` to begin at the end; without it, the feed begins with the first plant',
  'the "next" of an earlier response, or now',
);

/** The operations on the feed of changes. */
export function changeOperations({ readChanges }: Pick<UseCases, 'readChanges'>): Operation[] {
  return [
    operation({
      operationId: 'listChanges',
      method: 'GET',
      path: '/changes',
      permission: 'read',
      group,
      summary: 'Follow the changes',
      description:
        'The newest state of each plant that was created, changed or deleted after a position, from the first one on ' +
        'if none is given. Go on with `next` for ever; `atEnd` says that nothing more is there yet. Nothing is ever ' +
        'left out, but a change may come more than once.',
      query: { after, limit: pageLimit('changes'), wait },
      limits: () => 'wait',
      response: jsonResponse(Changes),
      statuses: [410, 501],
      handle: ({ query: { after, limit = DEFAULT_LIMIT, wait = 0 }, signal }) =>
        readChanges({ after, limit, wait: wait * 1_000, signal: signal() }),
    }),
  ];
}
