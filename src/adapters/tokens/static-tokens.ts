import { timingSafeEqual } from 'node:crypto';
import { type Access, allPermissions, readOnly } from '../../application/permissions.ts';

/** A token, as a pattern: RFC 6750 section 2.1 says which characters a header can carry; 16 of them at random cannot be guessed. */
export const TOKEN = '[A-Za-z0-9\\-._~+/]{16,}=*';

/**
 * Accepts the tokens of two fixed lists, as the configuration has them: `full` ones permit everything, `reading` ones
 * reading only. How long it takes tells nothing of a token but its length.
 */
export function staticTokens(
  lists: Readonly<Record<'full' | 'reading', readonly string[]>>,
): (token: string) => Access | undefined {
  const accepted = (
    [
      [lists.full, allPermissions],
      [lists.reading, readOnly],
    ] as const
  ).flatMap(([list, permissions]) =>
    list.map(namedToken).map(({ token, who }) => ({ bytes: Buffer.from(token), access: { permissions, who } })),
  );
  // With some dozens of tokens this is faster than to find one by a digest.
  return (token) => {
    const given = Buffer.from(token);
    return accepted.find(({ bytes }) => bytes.length === given.length && timingSafeEqual(bytes, given))?.access;
  };
}

/** A token of the configuration, such as `anna:TOKEN`: no token has a colon (RFC 6750 section 2.1). */
export function namedToken(configured: string): { readonly token: string; readonly who: string | undefined } {
  const [token = '', who] = configured.split(':').reverse();
  return { token, who };
}
