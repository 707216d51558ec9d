import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { RouterContext } from '@koa/router';
import type { Next } from 'koa';
import type { Permissions, TokenVerifier } from '../../../application/permissions.ts';
import { ifNoneMatch } from '../contract/etag.ts';
import type { Operation } from '../contract/operation.ts';
import { isWhole, JSON_TYPE } from '../contract/responses.ts';
import { errorResponse, HttpError } from '../http-errors.ts';
import { setHeaders } from './every-request.ts';
import type { responseLimits } from './response-limits.ts';
import type { OperationMiddleware, OperationState } from './state.ts';

/* The steps of an operation before and after its admission; app.ts has all of them. */

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/** Requires a valid token that permits the operation. */
export function authorize({ operationId, permission }: Operation, verifyToken: TokenVerifier): OperationMiddleware {
  return async ({ req, state }, next) => {
    state.operation = operationId;
    const token = BEARER.exec(req.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new HttpError('token_missing');
    const access = await verifyToken(token);
    if (access === undefined) throw new HttpError('token_refused');
    state.access = access;
    if (!access.permissions.has(permission)) throw new HttpError('insufficient_scope');
    await next();
  };
}

/** Checks what the operation requires of parameters and headers. */
export function prepare(operation: Operation) {
  return (ctx: RouterContext<OperationState>, next: Next) => {
    const { req: request, params, querystring: query, state } = ctx;
    const signal = () => closing(ctx.res);
    state.invoke = operation.prepare({ path: params, query, request, permissions: state.access.permissions, signal });
    return next();
  };
}

/** Aborts when a response has closed, as it has when its client has left. */
function closing(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/**
 * Does an operation, and responds with its result.
 *
 * @param operations all that there are
 * @param count bounds what clients have not read yet
 */
export function respond(
  { method, path }: Operation,
  operations: readonly Operation[],
  count: ReturnType<typeof responseLimits>['count'],
): OperationMiddleware {
  const onPath = operations.filter((operation) => operation.path === path);

  return async (ctx) => {
    const { res, req, state } = ctx;
    const { headers, body } = await state.invoke(state.body);
    // If there is no room for the response: 503, also of a change that is done, and is as safe to repeat.
    count(res, body);
    if (method === 'GET') res.setHeader('Allow', allowOf(onPath, state.access.permissions));
    setHeaders(res, headers);
    const noneMatch = req.headers['if-none-match'];
    const { ETag } = headers;
    const isKnown = method === 'GET' && noneMatch !== undefined && ETag !== undefined && ifNoneMatch(noneMatch, ETag);
    if (isKnown || body === undefined) {
      ctx.status = isKnown ? 304 : 204;
      return;
    }
    if (headers['Content-Type'] === undefined) res.setHeader('Content-Type', JSON_TYPE);
    ctx.body = isWhole(body) ? body : streamed(body, state);
  };
}

/** What a token permits of the operations on a path (RFC 9110 section 10.2.1). */
function allowOf(onPath: readonly Operation[], permissions: Permissions): string {
  const allowed = onPath.filter(({ permission }) => permissions.has(permission));
  return allowed.flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method])).join(', ');
}

/** One part at a time: a client that reads slowly holds no more in memory. */
function streamed(parts: AsyncIterable<string>, state: OperationState): Readable {
  return Readable.from(parts, { highWaterMark: 1 }).once('error', (thrown: NodeJS.ErrnoException) => {
    // The response is still open, and so not yet in the log. Koa ends the parts with this error if the client has left.
    if (thrown.code !== 'ERR_STREAM_PREMATURE_CLOSE') state.failure = { error: errorResponse(thrown).error, thrown };
  });
}
