import type { IncomingMessage } from 'node:http';
import type { Permission, Permissions } from '../../../application/permissions.ts';
import { HttpError } from '../pipeline/errors.ts';

/** RFC 6750 section 2.1; the scheme is case-insensitive (RFC 9110 section 11.1). */
const BEARER = /^bearer +(.+)$/i;

/** The token of `Authorization: Bearer <token>`. @throws HttpError `token_missing` */
export function bearerToken({ headers }: IncomingMessage): string {
  const token = BEARER.exec(headers.authorization ?? '')?.[1];
  if (token === undefined) throw new HttpError('token_missing');
  return token;
}

/**
 * @param permissions of the token; undefined if it is not accepted
 * @throws HttpError `token_refused` or, if it is accepted but does not permit this, `insufficient_scope`
 */
export function requirePermission(permissions: Permissions | undefined, permission: Permission): void {
  if (permissions === undefined) throw new HttpError('token_refused');
  if (!permissions.has(permission)) throw new HttpError('insufficient_scope');
}
