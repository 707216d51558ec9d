import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from '../exchange.ts';
import { commonHeaders, errorResponse, HttpError } from './errors.ts';
import { refuseMalformed } from './request-checks.ts';
import { requestLog } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';

interface AppOptions {
  readonly observer?: RequestObserver | undefined;
  readonly beforeRoutes?: readonly Middleware[];
}

/** The Koa app of one port, public or management: request log, Error bodies and these routes. */
export function koaApp(router: Router, log: Logger, { observer, beforeRoutes = [] }: AppOptions = {}): Koa {
  const app = new Koa();
  // Koa would print them. A disconnect is in the request log, and thrown errors never reach this listener.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') log.error({ err: error }, 'response not sent');
  });
  app.use(requestLog(log, observer));
  app.use(handleErrors);
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
const handleErrors: Middleware = async (ctx, next) => {
  for (const [name, value] of commonHeaderEntries) ctx.res.setHeader(name, value);
  try {
    await next();
  } catch (thrown) {
    const { status, error, headers, body } = errorResponse(thrown);
    const exchange = exchangeOf(ctx.req);
    exchange.failure = { error, thrown };
    if (thrown instanceof HttpError && thrown.code === 'overloaded') exchange.resume = 'when a slot is free';
    ctx.status = status;
    ctx.set(headers);
    ctx.body = body;
  }
};

/** Reached when no route matched: either the path is unknown or only its method. */
const refuseUnrouted: Middleware = (ctx) => {
  const { matched } = ctx as { matched?: readonly { methods: readonly string[] }[] };
  if (matched === undefined || matched.length === 0) throw new HttpError('path_not_found');
  const allow = matched.flatMap(({ methods }) => methods).join(', ');
  throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
};
