import koaCors from '@koa/cors';
import type { Context, Middleware } from 'koa';

/** How long a browser may keep the answer to a preflight, in seconds; Chromium keeps none for longer. */
const MAX_AGE = 7_200;

/**
 * Lets pages of these origins, or of all if one is `*`, send requests and read the answers, errors included. A preflight
 * is answered without a token, since browsers send none with it.
 */
export function cors(origins: readonly string[], methods: readonly string[]): Middleware {
  const allowed = (ctx: Context) => {
    const origin = ctx.get('Origin');
    return origins.includes(origin) ? origin : '';
  };
  return koaCors({
    origin: origins.includes('*') ? '*' : allowed,
    allowMethods: methods.join(', '),
    allowHeaders: 'Authorization, Content-Type, X-Request-Id',
    exposeHeaders: 'X-Request-Id, Retry-After, WWW-Authenticate',
    maxAge: MAX_AGE,
    // They are on the answer already, and an error's own headers are not to be written to.
    keepHeadersOnError: false,
  });
}
