import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RouterContext } from '@koa/router';
import Koa from 'koa';
import type { Logger } from 'pino';
import { errorResponse, HttpError } from '../errors.ts';
import { logRequest, type RequestObserver } from './log-line.ts';
import type { RequestContext, RequestMiddleware, RequestState } from './state.ts';

/* The middleware of every request, on both ports. */

/** A client's own request id is kept if it is short and safe in a log and a header. */
const VALID_ID = /^[\w.-]{1,64}$/;

/** Headers of every response, unless it sets its own. */
export const commonHeaders = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' };

/** Uses Node's method, since Koa's makes arrays of arrays for each request. */
export function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const name in headers) response.setHeader(name, headers[name] as string);
}

/** Creates an app with the first middleware. Its other middleware follows, and `refuseUnknown` is the last. */
export function createApp(log: Logger, observer?: RequestObserver): Koa<RequestState> {
  const app = new Koa<RequestState>();
  // Koa also reports lost connections and streams that break off, which the request's line shows, and marks these errors.
  app.on('error', (err: { readonly headerSent?: boolean } | undefined, { state }: RequestContext) => {
    if (err?.headerSent !== true) log.error({ requestId: state.requestId, err }, 'unexpected error without a response');
  });
  return app.use(everyRequest(log, observer));
}

/** Gives a request its id, responds to all errors thrown behind it, and logs a line when its response has closed. */
function everyRequest(log: Logger, observer?: RequestObserver): RequestMiddleware {
  return async (ctx, next) => {
    const { req: request, res: response } = ctx;
    const sentId = request.headers['x-request-id'];
    const requestId = typeof sentId === 'string' && VALID_ID.test(sentId) ? sentId : randomUUID();
    const state: RequestState = { startedAt: performance.now(), requestId };
    ctx.state = state;
    response.setHeader('X-Request-Id', requestId);
    setHeaders(response, commonHeaders);
    response.on('close', () => logRequest(ctx, log, observer));
    // The server finds that a body is malformed or too slow (connections.ts), perhaps before it is read (body.ts).
    request.on('error', (error) => {
      if (error instanceof HttpError) state.bodyError = error;
    });
    try {
      refuseMalformed(ctx);
      await next();
    } catch (thrown) {
      const { status, error, headers, body } = errorResponse(thrown);
      // The error comes too late for the request's line in the log.
      if (status === 500 && response.closed) ctx.app.emit('error', thrown, ctx);
      state.failure = { error, thrown };
      ctx.status = status;
      setHeaders(response, headers);
      ctx.body = body;
    }
    // While libuv finds a thousand sockets readable, it polls again within the iteration (uv__io_poll), so clients that
    // send their next request at once would delay timers and new database connections for seconds.
    if (state.access === undefined || state.failure !== undefined) await nextTurn();
  };
}

/** Far more than real clients send, and few enough to check quickly. Node passes on up to a thousand. */
const HEADERS_MAX = 200;

/** RFC 3986 section 3.2.2 and 3.2.3: a name or an address, and a port. */
const HOST = /^(?:[\w\-.~!$&'()*+,;=%]*|\[[\da-fA-F:.]+\])(?::\d*)?$/;

/** Refuses requests that Node would refuse with an empty response (server.ts turns that off) or that break ctx.path. */
function refuseMalformed(ctx: RequestContext): void {
  const { headers, httpVersion, rawHeaders } = ctx.req;
  if (rawHeaders.length > 2 * HEADERS_MAX) throw new HttpError('headers_too_large');
  const { host, authorization, expect, 'transfer-encoding': coding } = headers;
  // There must be exactly one (RFC 9112 section 3.2). Node joins several, with a space between them (server.ts).
  if (host === undefined ? httpVersion !== '1.0' : !HOST.test(host)) {
    throw new HttpError('malformed_request', 'the request must have one valid Host header');
  }
  // A proxy in front may have checked the other header. The comma is tested first, since counting costs more.
  if (authorization?.includes(', ') && (ctx.req.headersDistinct.authorization ?? []).length > 1) {
    throw new HttpError('malformed_request', 'the request must not have more than one Authorization header');
  }
  // A proxy in front may have seen another end of the body (RFC 9112 section 6.1).
  if (coding !== undefined && (httpVersion === '1.0' || coding.toLowerCase() !== 'chunked')) {
    const rule = 'Transfer-Encoding may only be chunked, and not over HTTP/1.0';
    throw new HttpError('malformed_request', rule, { Connection: 'close' });
  }
  try {
    // Koa reads the target by url.parse, which throws at some URLs, such as `http://[/plants`.
    void ctx.path;
  } catch {
    throw new HttpError('malformed_request', 'the request target must be a path or a URL');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') throw new HttpError('expectation_failed');
}

/**
 * Refuses a request that matches no route: an unknown path, or a method that the path does not have.
 *
 * @param help for an unknown path: where to find which paths
 */
export function refuseUnknown(help: string) {
  return ({ matched = [] }: RouterContext<RequestState>): never => {
    // The page at / is for browsers; other clients get 404.
    const routes = matched.filter((route) => route.path !== '/');
    if (routes.length === 0) {
      const rule = 'paths are in lower case, without a slash at the end';
      throw new HttpError('path_not_found', `no such path: ${rule}; ${help}`);
    }
    // The methods of `/plants/count` only, which matches `/plants/:id` as well.
    const allow = routes.flatMap(({ path, methods }) => (path === routes[0]?.path ? methods : [])).join(', ');
    throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
  };
}
