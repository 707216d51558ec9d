import { hash } from 'node:crypto';
import { allPermissions, type Permissions, readOnly } from '../../application/permissions.ts';

/**
 * Accepts the tokens of two fixed lists, in a time that does not grow with their number. `full` ones permit everything,
 * `reading` ones reading only.
 *
 * They are looked up by their SHA-256 digests. That need not take constant time: a client cannot choose the digest of
 * what it sends, so how far that agrees with a stored one says nothing about which token to try next.
 */
export function staticTokens(
  lists: Readonly<Record<'full' | 'reading', readonly string[]>>,
): (token: string) => Permissions | undefined {
  const permissions = new Map<string, Permissions>();
  for (const token of lists.reading) permissions.set(digest(token), readOnly);
  for (const token of lists.full) permissions.set(digest(token), allPermissions);
  return (token) => permissions.get(digest(token));
}

function digest(token: string): string {
  return hash('sha256', token, 'hex');
}
