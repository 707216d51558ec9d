import type { Context } from 'koa';
import type { TokenVerifier } from '../../../application/ports.ts';
import { HttpError } from '../pipeline/errors.ts';

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/**
 * Creates the check of `Authorization: Bearer <token>`.
 *
 * @returns a function that throws HttpError `token_missing` or `token_refused`.
 */
export function bearerAuth(verify: TokenVerifier): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    const token = BEARER.exec(ctx.req.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new HttpError('token_missing');
    if (!(await verify(token))) throw new HttpError('token_refused');
  };
}
