import type { JWTPayload } from 'jose';
import type { Access } from '../../application/permissions.ts';

/** Whether a token is for one of these audiences. A provider whose tokens have no `aud`, such as Cognito, names a client. */
export function isFor(audiences: readonly string[], { aud, client_id: client }: JWTPayload): boolean {
  const named: unknown[] = aud === undefined ? [client] : [aud].flat();
  return audiences.some((audience) => named.includes(audience));
}

/** RFC 8693 section 4.2: `scope` has them separated by spaces. Other claims have them like that, or as a list. */
export function scopesIn(claims: readonly string[], payload: JWTPayload): string[] {
  const parts = claims.flatMap((claim) => claimAt(claim, payload));
  return parts.flatMap((part) => (typeof part === 'string' ? part.split(' ') : []));
}

/** The claim of this name, or else what is at this path: a name that is a URL has dots, too. */
function claimAt(path: string, payload: JWTPayload): unknown {
  const inside = (value: unknown, name: string) => (Object(value) as Record<string, unknown>)[name];
  return payload[path] ?? path.split('.').reduce(inside, payload);
}

/** RFC 9068 section 2.2: its subject, and the client that asked for it. Longer ones than OpenID Connect has are cut. */
export function senderOf({ sub, client_id: client }: JWTPayload): Omit<Access, 'permissions'> {
  const text = (claim: unknown) => (typeof claim === 'string' ? claim.slice(0, 255) : undefined);
  return { who: text(sub), clientId: text(client) };
}
