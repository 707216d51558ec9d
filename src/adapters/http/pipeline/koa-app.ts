import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from '../exchange.ts';
import { type ErrorResponse, errorResponse, HttpError } from './errors.ts';
import { refuseMalformed } from './request-checks.ts';
import { respond } from './response.ts';

/**
 * The Koa app of one port, public or management: Error bodies and these routes.
 *
 * @param routers most used first: each compares the path with all of its routes
 */
export function koaApp(routers: readonly Router[], log: Logger, beforeRoutes: readonly Middleware[] = []): Koa {
  const app = new Koa();
  Object.assign(app, { handleRequest: requestHandler(log) });
  // A stream that breaks off (response.ts).
  app.on('error', (error, ctx) => noteFailure(ctx, error, log));
  for (const middleware of beforeRoutes) app.use(middleware);
  for (const router of routers) app.use(router.routes());
  app.use(refuseUnrouted);
  return app;
}

/**
 * Replaces Koa's own handleRequest, whose errors are plain text, and which watches each response and its socket with
 * on-finished: an AsyncResource and four listeners, an eighth of what a create costs.
 */
function requestHandler(log: Logger) {
  return async (ctx: Context, middleware: (ctx: Context) => Promise<void>): Promise<void> => {
    try {
      refuseMalformed(ctx.req);
      await middleware(ctx);
      // A preflight, for which the middleware for CORS only sets the status.
      if (!ctx.res.headersSent) respond(ctx, { status: ctx.status, headers: {}, body: undefined });
    } catch (thrown) {
      if (thrown instanceof HttpError && thrown.code === 'overloaded') {
        exchangeOf(ctx.req).resume = 'when a slot is free';
      }
      const response = noteFailure(ctx, thrown, log);
      if (!ctx.res.headersSent) respond(ctx, response);
    }
  };
}

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
