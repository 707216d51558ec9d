import Router from '@koa/router';
import compose from 'koa-compose';
import { type Exchange, fail } from '../exchange.ts';
import { HttpError } from '../http-errors.ts';
import { refuseMalformed } from './request-checks.ts';
import { respond } from './response.ts';
import { contextOf, type ExchangeContext, type ExchangeMiddleware } from './undocumented-koa.ts';

/** A method of a path and what responds to it. GET includes HEAD. */
export interface Route {
  readonly method: string;
  /** In the syntax of @koa/router, with parameters such as `:id`. */
  readonly path: string;
  /** Whether other methods get what they get at any unknown path. */
  readonly isHidden?: boolean;
  readonly handle: (ctx: ExchangeContext, parameters: Readonly<Record<string, string>>) => unknown;
}

/**
 * The Koa middleware of one port, public or management: Error bodies and these routes.
 *
 * @returns a function that responds to a request, whatever happens
 */
export function koaApp(
  routes: readonly Route[],
  beforeRoutes: readonly ExchangeMiddleware[] = [],
): (exchange: Exchange) => Promise<void> {
  const middleware = compose([...beforeRoutes, routing(routes), refusalOfMethods(routes), refusePath]);

  return async (exchange) => {
    const ctx = contextOf(exchange);
    try {
      refuseMalformed(ctx);
      await middleware(ctx);
      // A preflight, for which the middleware for CORS only sets the status.
      if (!ctx.res.headersSent) respond(ctx, { status: ctx.status, headers: {}, body: undefined });
    } catch (thrown) {
      if (thrown instanceof HttpError && thrown.code === 'overloaded') exchange.resume = 'when a slot is free';
      respond(ctx, fail(exchange, thrown));
    }
  };
}

type ExchangeRouter = Router<ExchangeContext['state']>;

/** Paths are case-sensitive, and none has a slash at its end. */
const exact = { sensitive: true, strict: true };

function routing(routes: readonly Route[]): ExchangeMiddleware {
  const router: ExchangeRouter = new Router(exact);
  for (const { method, path, handle } of routes) router.register(path, [method], (ctx) => handle(ctx, ctx.params));
  return middlewareOf(router);
}

/** Refuses the methods that a path does not have. */
function refusalOfMethods(routes: readonly Route[]): ExchangeMiddleware {
  const router: ExchangeRouter = new Router(exact);
  const shown = routes.filter(({ isHidden }) => !isHidden);
  for (const [path, own] of Map.groupBy(shown, ({ path }) => path)) {
    const allow = own.flatMap(({ method }) => (method === 'GET' ? ['HEAD', 'GET'] : [method])).join(', ');
    router.all(path, () => {
      throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
    });
  }
  return middlewareOf(router);
}

/** Its own type asks for a context that has what the router adds to it. */
function middlewareOf(router: ExchangeRouter): ExchangeMiddleware {
  return router.routes() as ExchangeMiddleware;
}

function refusePath(): never {
  throw new HttpError('path_not_found');
}
