import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { RouterContext } from '@koa/router';
import type { Permissions, TokenVerifier } from '../../../application/permissions.ts';
import { errorResponse, HttpError } from '../errors.ts';
import { ifNoneMatch, preconditionOf } from '../operations/etag.ts';
import { bodyTypeOf, preferredType } from '../operations/media-types.ts';
import type { Operation } from '../operations/operation.ts';
import { parseParameters, parseQuery } from '../operations/parameters.ts';
import { type Admission, countUnread } from './admission.ts';
import { bodyReader, sizeOf } from './body.ts';
import { setHeaders } from './every-request.ts';
import type { RequestState } from './state.ts';

/** Handles the requests for one of the operations. The order of the checks is documented. */
export function operationHandler(
  operation: Operation,
  operations: readonly Operation[],
  verifyToken: TokenVerifier,
  limits: Admission,
) {
  const { operationId, method, permission, parameters = {}, response: kind, body } = operation;
  const isRead = method === 'GET';
  const onPath = operations.filter(({ path }) => path === operation.path);
  const bodyTypes = Object.keys(body?.content ?? {});
  const responseTypes = Object.keys(kind?.content ?? {});
  const readBody = bodyReader(body?.bytesMax ?? 0);

  return async (ctx: RouterContext<RequestState>): Promise<void> => {
    const { req: request, res: response, state } = ctx;
    const { headers, httpVersion } = request;
    state.operation = operationId;
    const access = await verifyToken(tokenOf(headers));
    if (access === undefined) throw new HttpError('token_refused');
    state.access = access;
    const { permissions } = access;
    if (!permissions.has(permission)) throw new HttpError('insufficient_scope');

    const path = parseParameters(parameters, ctx.params);
    const query = parseQuery(operation.query, ctx.querystring, body?.advice);
    const precondition = operation.isConditional ? preconditionOf(headers) : undefined;
    const responseType = isRead ? preferredType(headers.accept, responseTypes) : undefined;
    if (isRead && responseType === undefined) {
      throw new HttpError('not_acceptable', `Accept must allow ${responseTypes.join(' or ')}`);
    }
    const bodyType = body && bodyTypeOf(headers, bodyTypes, body.advice);
    operation.check?.(query, permissions);
    const size = body === undefined ? 0 : sizeOf(request, body.bytesMax);

    let result: unknown;
    const place = limits[operation.limit?.(query) ?? (permission === 'read' ? 'read' : 'write')].reserve(size);
    try {
      const content = body?.parse(await readBody(ctx));
      place.enter();
      const signal = () => abortSignalOf(response);
      const input = { path, query, precondition, responseType, bodyType, body: content, httpVersion, signal };
      result = await operation.handle(input);
    } finally {
      place.leave();
    }

    if (kind === undefined) {
      ctx.status = 204;
      return;
    }
    const reply = kind.reply(result, responseType);
    // Without room for the response, this throws 503 even after a change. The change may safely be sent again.
    countUnread(reply.body, response, limits);
    setHeaders(response, reply.headers);
    if (isRead) response.setHeader('Allow', allowOf(onPath, permissions));
    if (isRead && ifNoneMatch(headers['if-none-match'], reply.headers.ETag)) ctx.status = 304;
    else ctx.body = typeof reply.body === 'string' ? reply.body : streamOf(reply.body, state);
  };
}

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/** @throws HttpError `token_missing` */
function tokenOf({ authorization = '' }: IncomingHttpHeaders): string {
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) throw new HttpError('token_missing');
  return token;
}

/** Aborts when the response closes, as it does when its client leaves. */
function abortSignalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  if (response.closed) controller.abort();
  else response.once('close', () => controller.abort());
  return controller.signal;
}

/** The methods that a token permits on a path (RFC 9110 section 10.2.1). */
function allowOf(onPath: readonly Operation[], permissions: Permissions): string {
  const permitted = onPath.filter(({ permission }) => permissions.has(permission));
  return permitted.flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method])).join(', ');
}

/** Streams one text at a time, so that a slow reader holds no more in memory. */
function streamOf(texts: AsyncIterable<string>, state: RequestState): Readable {
  return Readable.from(texts, { highWaterMark: 1 }).once('error', (thrown: NodeJS.ErrnoException) => {
    // The response is still open, and so not yet in the log. Koa ends the stream with this error if the client has left.
    if (thrown.code !== 'ERR_STREAM_PREMATURE_CLOSE') state.failure = { error: errorResponse(thrown).error, thrown };
  });
}
