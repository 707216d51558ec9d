import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { RouterContext } from '@koa/router';
import type { Next } from 'koa';
import type { Permissions, TokenVerifier } from '../../../application/permissions.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { ifNoneMatch } from '../contract/etag.ts';
import type { Operation } from '../contract/operation.ts';
import { JSON_TYPE } from '../contract/responses.ts';
import { errorResponse, HttpError } from '../http-errors.ts';
import { keepConnection } from '../sockets/connection-limits.ts';
import { isWhole, type ResponseCount } from './response-limits.ts';
import type { OperationContext, OperationMiddleware, OperationState } from './state.ts';

/* The steps of an operation before and after its admission; app.ts has all of them. */

/** Requires a valid token that permits the operation. */
export function authorize({ operationId, permission }: Operation, verifyToken: TokenVerifier): OperationMiddleware {
  return async ({ req, state }, next) => {
    state.operation = operationId;
    const access = await verifyToken(bearerToken(req));
    if (access === undefined) throw new HttpError('token_refused');
    keepConnection(req.socket);
    state.access = access;
    if (!access.permissions.has(permission)) throw new HttpError('insufficient_scope');
    await next();
  };
}

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/** The token of `Authorization: Bearer <token>`. @throws HttpError `token_missing` */
function bearerToken({ headers }: IncomingMessage): string {
  const token = BEARER.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw new HttpError('token_missing');
  return token;
}

/** Checks what the operation requires of parameters and headers. */
export function prepare(operation: Operation) {
  return (ctx: RouterContext<OperationState>, next: Next) => {
    const { req: request, params, querystring: query, state } = ctx;
    requireUtf8(ctx.path);
    const signal = () => disconnection(ctx);
    state.invoke = operation.prepare({ path: params, query, request, permissions: state.access.permissions, signal });
    return next();
  };
}

/** The router leaves escapes that are not UTF-8 as they are, so that %FF would mean the same as %25FF. */
function requireUtf8(path: string): void {
  try {
    if (path.includes('%')) decodeURIComponent(path);
  } catch {
    throw new PlantStoreError('invalid_plant', 'the path must be percent-encoded UTF-8');
  }
}

/**
 * Aborts when the response has closed, or the client leaves. A client that has closed its side may still wait for its
 * response, and gets it soon; more often it has gone, and nothing else would show that before something is sent.
 */
function disconnection({ req: { socket }, res }: RouterContext<OperationState>): AbortSignal {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (socket.readableEnded || res.closed) abort();
  else socket.once('end', abort);
  res.once('close', () => {
    socket.off('end', abort);
    abort();
  });
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
  count: ResponseCount,
): OperationMiddleware {
  const onPath = operations.filter((operation) => operation.path === path);
  // RFC 9110 section 10.2.1: what the token may do here.
  const allowedBy = (own: Permissions) => allowOf(onPath.filter(({ permission }) => own.has(permission)));

  return async (ctx) => {
    const { invoke, body: sent, access } = ctx.state;
    const { headers, body } = await invoke(sent);
    const { res } = ctx;
    // If there is no room for the response: 503, also of a change that is done, and is as safe to repeat.
    count(res, body);
    // By Node, since ctx.set makes an array of arrays for each header.
    if (method === 'GET') res.setHeader('Allow', allowedBy(access.permissions));
    for (const name in headers) res.setHeader(name, headers[name] as string);
    const noneMatch = ctx.req.headers['if-none-match'];
    const { ETag } = headers;
    const isKnown = method === 'GET' && noneMatch !== undefined && ETag !== undefined && ifNoneMatch(noneMatch, ETag);
    if (isKnown || body === undefined) {
      ctx.status = isKnown ? 304 : 204;
      return;
    }
    if (headers['Content-Type'] === undefined) res.setHeader('Content-Type', JSON_TYPE);
    // One part at a time: a client that reads slowly holds no more in memory.
    ctx.body = isWhole(body) ? body : Readable.from(noting(body, ctx), { highWaterMark: 1 });
  };
}

/** The header `Allow` for these operations on a path. */
function allowOf(operations: readonly Operation[]): string {
  return operations.flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method])).join(', ');
}

/** Notes why the parts break off while the response is still open, and so not yet in the log. */
async function* noting(parts: AsyncIterable<string>, ctx: OperationContext): AsyncIterable<string> {
  try {
    yield* parts;
  } catch (thrown) {
    // Koa ends the parts with this error when the client has left.
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') {
      ctx.state.failure = { error: errorResponse(thrown).error, thrown };
    }
    throw thrown;
  }
}
