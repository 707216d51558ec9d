import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { RouterContext } from '@koa/router';
import type { Permissions, TokenVerifier } from '../../../application/permissions.ts';
import { MAX_PLANT_BYTES } from '../../../formats/schemas.ts';
import { errorResponse, HttpError } from '../errors.ts';
import type { Operation } from '../operations/operation.ts';
import { isWhole, type Reply } from '../operations/responses.ts';
import type { Admission } from './admission.ts';
import { bodyReader } from './body.ts';
import { setHeaders } from './every-request.ts';
import type { RequestState } from './state.ts';

interface Surroundings {
  /** All operations of the API. */
  readonly operations: readonly Operation[];
  readonly verifyToken: TokenVerifier;
  readonly limits: Admission;
  /** The most bytes of a list. */
  readonly bodyLimit: number;
}

/** Handles the requests for an operation. The order of the checks is documented. */
export function operationHandler(operation: Operation, { operations, verifyToken, limits, bodyLimit }: Surroundings) {
  const { operationId, method, permission, path, requestContent } = operation;
  const onPath = operations.filter((other) => other.path === path);
  const kind = operation.limits ?? (permission === 'read' ? 'read' : 'write');
  const limit = limits[kind];
  const bodyMax = kind === 'list' ? bodyLimit : MAX_PLANT_BYTES;
  const body = bodyReader(Object.keys(requestContent).length > 0 ? bodyMax : 0);

  return async (ctx: RouterContext<RequestState>): Promise<void> => {
    const { req: request, res: response, state, params, querystring: query } = ctx;
    state.operation = operationId;
    const access = await verifyToken(tokenOf(request));
    if (access === undefined) throw new HttpError('token_refused');
    state.access = access;
    const { permissions } = access;
    if (!permissions.has(permission)) throw new HttpError('insufficient_scope');

    const signal = () => closing(response);
    const invoke = operation.check({ path: params, query, request, permissions, signal });

    let reply: Reply;
    const size = body.sizeOf(request);
    limit.reserve(size);
    try {
      const sent = await body.read(ctx);
      limit.enter();
      try {
        reply = await invoke(sent);
      } finally {
        limit.leave();
      }
    } finally {
      limit.release(size);
    }

    // Without room for the response this throws 503, even if a change is done: it is as safe to repeat.
    countUnread(reply.body, response, limits);
    ctx.status = reply.status;
    if (method === 'GET') response.setHeader('Allow', allowOf(onPath, permissions));
    setHeaders(response, reply.headers);
    if (reply.body !== undefined) ctx.body = isWhole(reply.body) ? reply.body : streamed(reply.body, state);
  };
}

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/** @throws HttpError `token_missing` */
function tokenOf({ headers }: IncomingMessage): string {
  const token = BEARER.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw new HttpError('token_missing');
  return token;
}

/** Aborts when the response closes, as it does when its client leaves. */
function closing(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/** Smaller bodies are not counted: the buffer of a socket holds more. */
const SMALL_BYTES_MAX = 16 * 1024;

/** Counts a body until its response closes. @throws HttpError `overloaded` or `concurrency_limit` beyond the limit */
function countUnread(body: Reply['body'], response: ServerResponse, { stream, unread }: Admission): void {
  // The client may have left: then nothing is sent, and the response will not close again.
  if (body === undefined || response.closed) return;
  if (!isWhole(body)) {
    stream.enter();
    response.once('close', stream.leave);
  } else if (body.length > SMALL_BYTES_MAX) {
    const size = Buffer.byteLength(body);
    unread.reserve(size);
    response.once('close', () => unread.release(size));
  }
}

/** The methods that a token permits on a path (RFC 9110 section 10.2.1). */
function allowOf(onPath: readonly Operation[], permissions: Permissions): string {
  const allowed = onPath.filter(({ permission }) => permissions.has(permission));
  return allowed.flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method])).join(', ');
}

/** Streams one part at a time, so that a slow reader holds no more in memory. */
function streamed(parts: AsyncIterable<string>, state: RequestState): Readable {
  return Readable.from(parts, { highWaterMark: 1 }).once('error', (thrown: NodeJS.ErrnoException) => {
    // The response is still open, and so not yet in the log. Koa ends the parts with this error if the client has left.
    if (thrown.code !== 'ERR_STREAM_PREMATURE_CLOSE') state.failure = { error: errorResponse(thrown).error, thrown };
  });
}
