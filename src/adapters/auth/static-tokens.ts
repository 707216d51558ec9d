import { hash } from 'node:crypto';
import { type Access, allPermissions, readOnly } from '../../application/permissions.ts';

/** The pattern of a token: its characters are those of RFC 6750 section 2.1, and 16 random ones cannot be guessed. */
export const TOKEN = '[A-Za-z0-9\\-._~+/]{16,}=*';

/** The configured tokens that permit everything, and those that permit reading only. */
export interface TokenLists {
  readonly full: readonly string[];
  readonly reading: readonly string[];
}

/**
 * Accepts the tokens of two fixed lists, in a time that does not grow with their number.
 *
 * The SHA-256 digests of tokens are compared. That need not take constant time: a client cannot choose the digest of what it
 * sends, so a partial match with a stored one reveals nothing about which token to try next.
 */
export function staticTokens(lists: TokenLists): (token: string) => Access | undefined {
  const accessByDigest = new Map<string, Access>();
  for (const [list, permissions] of [
    [lists.reading, readOnly],
    [lists.full, allPermissions],
  ] as const) {
    for (const { token, who } of list.map(namedToken)) accessByDigest.set(digest(token), { permissions, who });
  }
  return (token) => accessByDigest.get(digest(token));
}

/** Parses an entry of a list of tokens, such as `anna:TOKEN`: no token has a colon (RFC 6750 section 2.1). */
export function namedToken(entry: string): { readonly token: string; readonly who: string | undefined } {
  const [token = '', who] = entry.split(':').reverse();
  return { token, who };
}

function digest(token: string): string {
  return hash('sha256', token, 'hex');
}
