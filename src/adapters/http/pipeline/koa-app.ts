import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from '../exchange.ts';
import { commonHeaders, type ErrorResponse, errorResponse, HttpError } from './errors.ts';
import { refuseMalformed } from './request-checks.ts';

/** The Koa app of one port, public or management: Error bodies and these routes. */
export function koaApp(router: Router, log: Logger, beforeRoutes: readonly Middleware[] = []): Koa {
  const app = new Koa();
  // Why a response broke off; Koa reports it twice, the first time before the response closes, and would print it.
  app.on('error', (error: NodeJS.ErrnoException, ctx: Context) => {
    if (!DISCONNECTED.has(error.code ?? '')) noteFailure(ctx, error, log);
  });
  app.use(handleErrors(log));
  app.use(refuseMalformed);
  for (const middleware of beforeRoutes) app.use(middleware);
  app.use(router.routes());
  app.use(refuseUnrouted);
  return app;
}

export function respondJson(ctx: Context, value: unknown): void {
  ctx.body = JSON.stringify(value);
}

const commonHeaderEntries = Object.entries(commonHeaders);

/** Turns everything thrown downstream into an Error body: Koa's own would be plain text. */
function handleErrors(log: Logger): Middleware {
  return async (ctx, next) => {
    ctx.res.setHeader('X-Request-Id', exchangeOf(ctx.req).requestId);
    for (const [name, value] of commonHeaderEntries) ctx.res.setHeader(name, value);
    try {
      await next();
    } catch (thrown) {
      const { status, headers, body } = noteFailure(ctx, thrown, log);
      if (thrown instanceof HttpError && thrown.code === 'overloaded') {
        exchangeOf(ctx.req).resume = 'when a slot is free';
      }
      ctx.status = status;
      ctx.set(headers);
      ctx.body = body;
    }
  };
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
