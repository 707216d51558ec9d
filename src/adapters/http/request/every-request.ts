import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import { JSON_TYPE } from '../contract/responses.ts';
import { errorResponse, HttpError, reachedLimit } from '../http-errors.ts';
import { logRequest, type RequestObserver } from './log-line.ts';
import type { RequestContext, RequestMiddleware } from './state.ts';

/* What every request passes, on both ports. */

/** A client's own request id is kept if it is short and safe in a log and a header. */
const VALID_ID = /^[\w.-]{1,64}$/;

/** Of every response, unless it has its own. */
export const commonHeaders = new Map([
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'no-store'],
]);

/** Gives each request its id, and logs a line when its response has closed. */
export function requestLog(log: Logger, onlyFailures: boolean, observer?: RequestObserver): RequestMiddleware {
  return (ctx, next) => {
    const offered = ctx.req.headers['x-request-id'];
    const requestId = typeof offered === 'string' && VALID_ID.test(offered) ? offered : randomUUID();
    ctx.state = {
      startedAt: performance.now(),
      requestId,
      operation: undefined,
      access: undefined,
      failure: undefined,
      refusal: undefined,
      isAdmitted: false,
    };
    ctx.res.setHeader('X-Request-Id', requestId);
    ctx.res.setHeaders(commonHeaders);
    ctx.res.once('close', () => logRequest(ctx, log, onlyFailures, observer));
    return next();
  };
}

/** Responds to everything that the middleware behind it throws. */
export const errors: RequestMiddleware = async (ctx, next) => {
  const { state } = ctx;
  ctx.req.on('error', (error) => {
    if (error instanceof HttpError) state.refusal = error;
  });
  try {
    await next();
  } catch (thrown) {
    const { status, error, headers, body } = errorResponse(thrown);
    // It comes too late for the request's line in the log.
    if (status === 500 && ctx.res.closed) ctx.app.emit('error', thrown, ctx);
    state.failure = { error, thrown };
    ctx.status = status;
    ctx.set({ 'Content-Type': JSON_TYPE, ...headers });
    ctx.body = body;
  }
  // While libuv finds a thousand sockets readable, it polls again within the iteration (uv__io_poll), so clients that
  // send their next request at once would delay timers and new database connections for seconds.
  if (!state.isAdmitted || reachedLimit(state.failure?.thrown) !== undefined) await nextTurn();
};

/**
 * Logs what no middleware caught: a listener for the `error` event of a Koa app. Koa also reports lost connections and
 * streams that break off, which the request's line shows, and marks these errors.
 */
export function logUncaught(log: Logger) {
  return (err: { readonly headerSent?: boolean } | undefined, { state }: RequestContext): void => {
    if (err?.headerSent !== true) log.error({ requestId: state.requestId, err }, 'unexpected error without a response');
  };
}

/** Far more than real clients send, and few enough to check quickly. */
export const MAX_HEADERS = 200;

/** Refuses requests that Node would refuse with an empty response (server.ts turns that off) or that break ctx.path. */
export const refuseMalformed: RequestMiddleware = (ctx, next) => {
  const { headers, httpVersion, rawHeaders } = ctx.req;
  if (rawHeaders.length > 2 * MAX_HEADERS) throw new HttpError('headers_too_large');
  if (httpVersion !== '1.0' || headers.host !== undefined) checkHost(headers.host);
  // A proxy in front may have checked the other header. The comma is tested first, since counting costs more.
  if (headers.authorization?.includes(', ') && (ctx.req.headersDistinct.authorization ?? []).length > 1) {
    throw new HttpError('malformed_request', 'the request must not have more than one Authorization header');
  }
  if (headers['transfer-encoding'] !== undefined) checkTransferEncoding(headers['transfer-encoding'], httpVersion);
  if (!hasValidTarget(ctx)) {
    throw new HttpError('malformed_request', 'the request target must be a path or a URL, without a fragment');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    throw new HttpError('expectation_failed');
  }
  return next();
};

/** RFC 3986 section 3.2.2 and 3.2.3: a name or an address, and a port. */
const HOST = /^(?:[\w\-.~!$&'()*+,;=%]*|\[[\da-fA-F:.]+\])(?::\d*)?$/;

/** RFC 9112 section 3.2: exactly one valid Host. Node joins several values, with a space between them (server.ts). */
function checkHost(host: string | undefined): void {
  if (host !== undefined && HOST.test(host)) return;
  throw new HttpError('malformed_request', 'the request must have one valid Host header');
}

/** RFC 9112 section 6.1: in HTTP/1.0 its presence is a framing error, so nothing behind the request can be trusted. */
function checkTransferEncoding(encoding: string, httpVersion: string): void {
  if (httpVersion === '1.0') {
    const message = 'HTTP/1.0 has no Transfer-Encoding: send a Content-Length, or use HTTP/1.1';
    throw new HttpError('malformed_request', message, { Connection: 'close' });
  }
  if (encoding.toLowerCase() === 'chunked') return;
  throw new HttpError('malformed_request', 'Transfer-Encoding may only be chunked');
}

/**
 * A path or a URL. RFC 9112 section 3.2: clients do not send fragments; the router would ignore them. Koa reads the
 * target by url.parse, which fails at some URLs, such as `http://%@x/`.
 */
function hasValidTarget(ctx: RequestContext): boolean {
  const { url = '' } = ctx.req;
  if (url.includes('#') || (!url.startsWith('/') && url !== '*' && !URL.canParse(url))) return false;
  try {
    return ctx.path !== undefined;
  } catch {
    return false;
  }
}
