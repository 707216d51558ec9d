import type { Context } from 'koa';
import type { Permission, TokenVerifier } from '../../../application/permissions.ts';
import { HttpError } from '../pipeline/errors.ts';

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/**
 * Creates the check of `Authorization: Bearer <token>`.
 *
 * @returns a function that throws HttpError `token_missing`, `token_refused` or, if the token is accepted but does not
 * permit this, `insufficient_scope`
 */
export function bearerAuth(verify: TokenVerifier): (ctx: Context, permission: Permission) => Promise<void> {
  return async (ctx, permission) => {
    const token = BEARER.exec(ctx.req.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new HttpError('token_missing');
    const permissions = await verify(token);
    if (permissions === undefined) throw new HttpError('token_refused');
    if (!permissions.has(permission)) throw new HttpError('insufficient_scope');
  };
}
