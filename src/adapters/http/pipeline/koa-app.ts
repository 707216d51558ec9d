import { pipeline, Readable } from 'node:stream';
import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from '../exchange.ts';
import { commonHeaders, type ErrorResponse, errorResponse, HttpError } from './errors.ts';
import { refuseMalformed } from './request-checks.ts';

/** The Koa app of one port, public or management: Error bodies and these routes. */
export function koaApp(router: Router, log: Logger, beforeRoutes: readonly Middleware[] = []): Koa {
  const app = new Koa();
  Object.assign(app, { handleRequest: requestHandler(log) });
  for (const middleware of beforeRoutes) app.use(middleware);
  app.use(router.routes());
  app.use(refuseUnrouted);
  return app;
}

export function respondJson(ctx: Context, value: unknown): void {
  ctx.body = JSON.stringify(value);
}

const commonHeaderEntries = Object.entries(commonHeaders);

/**
 * Replaces Koa's own handleRequest, whose errors are plain text, and which watches each response and its socket with
 * on-finished: an AsyncResource and four listeners, an eighth of what a create costs.
 */
function requestHandler(log: Logger) {
  return async (ctx: Context, middleware: (ctx: Context) => Promise<void>): Promise<void> => {
    try {
      ctx.res.setHeader('X-Request-Id', exchangeOf(ctx.req).requestId);
      for (const [name, value] of commonHeaderEntries) ctx.res.setHeader(name, value);
      refuseMalformed(ctx.req);
      await middleware(ctx);
      respond(ctx, log);
    } catch (thrown) {
      const { status, headers, body } = noteFailure(ctx, thrown, log);
      if (thrown instanceof HttpError && thrown.code === 'overloaded') {
        exchangeOf(ctx.req).resume = 'when a slot is free';
      }
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
      respond(ctx, log);
    }
  };
}

/** Sends the body that the middleware has set: a text, bytes, a stream, or none. */
function respond(ctx: Context, log: Logger): void {
  const { req, res, body } = ctx;
  // The client has left, or the response is to what followed the request (parser-refusals.ts).
  if (!ctx.writable) {
    res.end();
    return;
  }
  if (res.statusCode === 204 || res.statusCode === 304) res.removeHeader('Content-Type');
  if (req.method === 'HEAD') res.end();
  else if (body instanceof Readable) {
    // Why it broke off. The callback of pipeline comes too late: the response has closed by then, and is in the log.
    body.once('error', (error: NodeJS.ErrnoException) => {
      if (!DISCONNECTED.has(error.code ?? '')) noteFailure(ctx, error, log);
    });
    pipeline(body, res, () => {});
  } else res.end(body);
}

/** Errors that say only that the connection has closed, which the request log shows as `aborted`. */
const DISCONNECTED = new Set(['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE']);

/** Notes an error for the request's line in the log. A defect after that was written gets a line of its own. */
function noteFailure({ req, res }: Context, thrown: unknown, log: Logger): ErrorResponse {
  const response = errorResponse(thrown);
  const exchange = exchangeOf(req);
  if (res.closed && response.status === 500 && exchange.failure?.thrown !== thrown) {
    log.error({ requestId: exchange.requestId, err: thrown }, 'unexpected error after the client left');
  }
  exchange.failure = { error: response.error, thrown };
  return response;
}

/** Reached when no route matched: either the path is unknown or only its method. */
const refuseUnrouted: Middleware = (ctx) => {
  const { matched } = ctx as { matched?: readonly { methods: readonly string[] }[] };
  if (matched === undefined || matched.length === 0) throw new HttpError('path_not_found');
  const allow = matched.flatMap(({ methods }) => methods).join(', ');
  throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
};
