import koaCors from '@koa/cors';
import type { Context } from 'koa';
import type { RequestMiddleware } from './state.ts';

/** How long a browser may cache a preflight response, in seconds: Chromium's maximum. */
const PREFLIGHT_AGE_S_MAX = 7_200;

/**
 * Lets pages of these origins, or of all if one is `*`, send requests and read the responses, errors included. A
 * preflight needs no token, since browsers send none with it.
 */
export function cors(origins: readonly string[]): RequestMiddleware {
  return koaCors({
    origin: (ctx: Context) => origins.find((origin) => origin === '*' || origin === ctx.get('Origin')) ?? '',
    // Libraries for tracing add the last three to each request of a page, which the browser would not send otherwise.
    allowHeaders:
      'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate, baggage',
    exposeHeaders: 'Allow, ETag, Link, X-Request-Id, Retry-After, WWW-Authenticate',
    maxAge: PREFLIGHT_AGE_S_MAX,
    // The error response has these headers already; the error must not be modified.
    keepHeadersOnError: false,
  });
}
