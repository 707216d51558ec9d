import Router from '@koa/router';
import type { Next } from 'koa';
import compose from 'koa-compose';
import { type Exchange, fail } from '../exchange.ts';
import { HttpError, reachedLimit } from '../http-errors.ts';
import type { ExchangeContext, ExchangeMiddleware } from './exchange-context.ts';
import { nearPath } from './near-path.ts';
import { respond } from './response.ts';
import { contextOf } from './undocumented-koa.ts';

/** Far more than real clients send, and few enough to check quickly. */
export const MAX_HEADERS = 200;

/** A method of a path, and its handler. GET includes HEAD. */
export interface Route {
  readonly method: string;
  /** In the syntax of @koa/router, with parameters such as `:id`. */
  readonly path: string;
  /** Whether other methods get 404, as at any unknown path. */
  readonly isHidden?: boolean;
  /** @param next for what it does not respond to, which gets 404 if it is hidden */
  readonly handle: (ctx: ExchangeContext, parameters: Readonly<Record<string, string>>, next: Next) => unknown;
}

/**
 * The Koa middleware of one port, public or management: Error bodies and these routes.
 *
 * @param help says at an unknown path where to find what
 * @returns a function that responds to a request, whatever happens
 */
export function koaApp(
  routes: readonly Route[],
  help: string,
  beforeRoutes: readonly ExchangeMiddleware[] = [],
): (exchange: Exchange) => Promise<void> {
  const middleware = compose([...beforeRoutes, routing(routes, help)]);

  return async (exchange) => {
    const ctx = contextOf(exchange);
    try {
      refuseMalformed(ctx);
      await middleware(ctx);
      // A preflight, for which the middleware for CORS only sets the status.
      if (!ctx.res.headersSent) respond(ctx, { status: ctx.status, headers: {}, body: undefined });
    } catch (thrown) {
      if (reachedLimit(thrown) !== undefined) exchange.readsNext = 'after this iteration';
      respond(ctx, fail(exchange, thrown));
    }
  };
}

/** Passes a request on to its route. Paths are case-sensitive, and none has a slash at its end. */
function routing(routes: readonly Route[], help: string): ExchangeMiddleware {
  const router = new Router<ExchangeContext['state']>({ sensitive: true, strict: true });
  for (const { method, path, handle } of routes) {
    router.register(path, [method], (ctx, next) => handle(ctx, ctx.params, next));
  }
  const hidden = new Set<unknown>(routes.filter(({ isHidden }) => isHidden).map(({ path }) => path));
  const known = routes.map(({ path }) => path);
  // The router's own type asks for a context that has the router's members already.
  const pass = router.routes() as ExchangeMiddleware;

  return (ctx) =>
    pass(ctx, () => {
      const shown = router.match(ctx.path, ctx.method).path.filter(({ path }) => !hidden.has(path));
      if (shown.length === 0) {
        const meant = nearPath(ctx.path, known);
        throw new HttpError('path_not_found', `no such path: ${meant ? `you may mean ${meant}; ` : ''}${help}`);
      }
      const allow = shown.flatMap(({ methods }) => methods).join(', ');
      throw new HttpError('method_not_allowed', `use ${allow}`, { Allow: allow });
    });
}

/** Refuses requests that Node would refuse with an empty response (server.ts turns that off) or that break ctx.path. */
function refuseMalformed(ctx: ExchangeContext): void {
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
}

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
function hasValidTarget(ctx: ExchangeContext): boolean {
  const { url = '' } = ctx.req;
  if (url.includes('#') || (!url.startsWith('/') && url !== '*' && !URL.canParse(url))) return false;
  try {
    return ctx.path !== undefined;
  } catch {
    return false;
  }
}
