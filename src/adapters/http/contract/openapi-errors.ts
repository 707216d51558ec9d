import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { type AnyErrorCode, errorKinds } from '../http-errors.ts';
import type { Operation } from './operation.ts';

/** The errors of every request, of every request with a body, and of every read. */
const ANY_REQUEST = [
  'malformed_request',
  'token_missing',
  'token_refused',
  'insufficient_scope',
  'request_too_slow',
  'expectation_failed',
  'headers_too_large',
  'unexpected',
  'store_unavailable',
  'overloaded',
  'too_many_alike',
  'token_unverifiable',
] as const;
const ANY_BODY = ['malformed_json', 'body_too_large', 'unsupported_media_type', 'invalid_plant'] as const;
const ANY_READ = ['not_acceptable'] as const;

function errorsOf({ method, requestContent, parameters, query, errors }: Operation): AnyErrorCode[] {
  const invalid = parameters || query ? (['invalid_plant'] as const) : [];
  const own = [
    ...(Object.keys(requestContent).length > 0 ? ANY_BODY : invalid),
    ...(method === 'GET' ? ANY_READ : []),
    ...errors,
  ];
  return [...new Set([...ANY_REQUEST, ...own])];
}

/**
 * One response for each status, with its error numbers as literals, so that generated types distinguish them.
 *
 * @param shared gets those that operations have in common, by name; the operations refer to them
 */
export function errorResponses(operation: Operation, shared: Record<string, object>): Record<number, object> {
  const responses: Record<number, object> = {};
  const entries = errorsOf(operation)
    .map((code) => [code, errorKinds[code]] as const)
    .sort(([, a], [, b]) => a.error - b.error);
  for (const [status, kinds] of Map.groupBy(entries, ([, kind]) => kind.status)) {
    // The largest number first, since tools show the first example: of 400 that is the operation's own.
    const examples = kinds
      .toReversed()
      .map(([code, { error, message }]) => [
        code,
        { value: { error, message: ownMessage(code, operation) ?? message } },
      ]);
    const headers = new Set(kinds.flatMap(([, kind]) => Object.keys(kind.headers)));
    const response = {
      description: kinds.map(([code, { error }]) => `${error} ${code.replaceAll('_', ' ')}`).join(', '),
      ...(headers.size > 0 && {
        headers: Object.fromEntries([...headers].map((name) => [name, { schema: { type: 'string' } }])),
      }),
      content: {
        'application/json': {
          schema: { allOf: [{ $ref: '#/components/schemas/Error' }, numbered(kinds.map(([, { error }]) => error))] },
          examples: Object.fromEntries(examples),
        },
      },
    };
    responses[status] = status === 400 ? response : sharedResponse(status, response, shared);
  }
  return responses;
}

/** A reference, unless an operation before has other errors under the status. Those of 400 name an operation's own fields. */
function sharedResponse(status: number, response: object, shared: Record<string, object>): object {
  const name = STATUS_CODES[status]?.replaceAll(' ', '') ?? `${status}`;
  shared[name] ??= response;
  return isDeepStrictEqual(shared[name], response) ? { $ref: `#/components/responses/${name}` } : response;
}

function ownMessage(code: AnyErrorCode, operation: Operation): string | undefined {
  const types = Object.keys(operation.requestContent);
  if (code === 'unsupported_media_type') return operation.mediaTypeRule;
  if (code === 'malformed_json' && !types.includes('application/json')) return 'the list is empty';
  return code === 'invalid_plant' ? firstRule(operation) : undefined;
}

/** The rule of the operation's first field or parameter. */
function firstRule({ requestContent, parameters, query }: Operation): string | undefined {
  const [schema = {}] = Object.values(requestContent);
  const { properties = {} } = schema as { properties?: Record<string, { description?: string }> };
  const fields = Object.entries(properties);
  const [first] = [
    ...fields.map(([name, { description }]) => [name, description]),
    ...Object.entries({ ...query, ...parameters }).map(([name, { mustBe }]) => [name, mustBe]),
  ];
  return first && `${first[0]} must be ${first[1]}`;
}

function numbered(errors: readonly number[]): object {
  return { properties: { error: { enum: [...new Set(errors)] } } };
}
