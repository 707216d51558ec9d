import type Router from '@koa/router';
import Koa, { type Context, type Middleware } from 'koa';
import type { Logger } from 'pino';
import { exchangeOf } from '../exchange.ts';
import { errorAnswer, everyAnswer, HttpError } from './errors.ts';
import { refuseMalformed } from './request-checks.ts';
import { requestLog } from './request-log.ts';
import type { RequestObserver } from './request-observer.ts';

interface AppOptions {
  readonly observer?: RequestObserver | undefined;
  /** What comes before the routes. */
  readonly ahead?: readonly Middleware[];
}

/** What every port of the service has in common: request log, Error bodies and these routes. */
export function koaApp(router: Router, log: Logger, { observer, ahead = [] }: AppOptions = {}): Koa {
  const app = new Koa();
  // Koa would print them. A client that has gone is in the request log, and thrown errors never come here.
  app.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') log.error({ err: error }, 'response not sent');
  });
  app.use(requestLog(log, observer));
  app.use(answerErrors);
  app.use(refuseMalformed);
  for (const middleware of ahead) app.use(middleware);
  app.use(router.routes());
  app.use(refuseUnrouted);
  return app;
}

export function answerJson(ctx: Context, value: unknown): void {
  ctx.body = JSON.stringify(value);
}

const everyAnswerList = Object.entries(everyAnswer);

/** Turns everything thrown below it into an Error body: Koa's own would be plain text. */
const answerErrors: Middleware = async (ctx, next) => {
  for (const [name, value] of everyAnswerList) ctx.res.setHeader(name, value);
  try {
    await next();
  } catch (thrown) {
    const { status, error, headers, body } = errorAnswer(thrown);
    const exchange = exchangeOf(ctx.req);
    exchange.failure = { error, thrown };
    if (thrown instanceof HttpError && thrown.code === 'overloaded') exchange.readOn = 'when there is room';
    ctx.status = status;
    ctx.set(headers);
    ctx.body = body;
  }
};

/** Reached when no route answered: either the path or only the method is unknown. */
const refuseUnrouted: Middleware = (ctx) => {
  const { matched } = ctx as { matched?: readonly { methods: readonly string[] }[] };
  if (matched === undefined || matched.length === 0) throw new HttpError('path_not_found');
  const allow = matched.flatMap(({ methods }) => methods).join(', ');
  throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
};
