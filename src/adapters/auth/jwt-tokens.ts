import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Logger } from 'pino';
import type { Access, Permission, Permissions, TokenVerifier } from '../../application/permissions.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import { type KeySource, providerKeys } from './provider-keys.ts';

export interface JwtOptions extends KeySource {
  readonly issuer: string;
  /** The accepted audiences: a token must have one of these. */
  readonly audiences: readonly string[];
  /** The claims that contain scopes. */
  readonly scopeClaims: readonly string[];
  /**
   * The scopes that permit reading and writing. Without a read scope, every accepted token may read. Without a write
   * scope, every accepted token may create plants, and none may change or delete them.
   */
  readonly readScope: string | undefined;
  readonly writeScope: string | undefined;
}

/** Asymmetric only: `none` proves nothing, and with HMAC the public key could sign tokens. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** The most tokens that are remembered. */
const TOKENS_MAX = 10_000;

/** Milliseconds after which a refusal for the same reason is logged again. */
const LOG_INTERVAL_MS = 60_000;

/** Seconds by which the clocks of the provider and of this machine may differ. */
const CLOCK_TOLERANCE_S = 30;

/**
 * Accepts the tokens (RFC 7519) that an identity provider has signed for this audience, until they expire. A verified token
 * is remembered until it expires or the keys are fetched again, so that most requests verify no signature.
 *
 * @returns a verifier that rejects with PlantStoreError `token_unverifiable` if a token cannot be verified now
 */
export function jwtTokens(
  { issuer, audiences, scopeClaims, readScope, writeScope, ...source }: JwtOptions,
  log: Logger,
): TokenVerifier {
  const keys = providerKeys(source, log);
  /** The verified tokens by digest, the oldest first. A verification by earlier keys cannot add to the map of new keys. */
  let cache = new Map<string, { readonly access: Access; readonly expiresAt: number }>();
  let cacheKeys = keys.current();
  /** When a refusal was logged last, by its reason. */
  const refusals = new Map<string, number>();
  const options = {
    algorithms: ALGORITHMS,
    issuer,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ['exp'],
  };

  async function verify(token: string, digest: string): Promise<Access | undefined> {
    const entries = cache;
    if (!hasCanonicalSignature(token)) return undefined;
    try {
      const { payload } = await jwtVerify(token, keys.keyOf, options);
      if (!isFor(audiences, payload)) throw new errors.JWTClaimValidationFailed('', payload, 'aud');
      const [oldest] = entries.keys();
      if (oldest !== undefined && entries.size >= TOKENS_MAX) entries.delete(oldest);
      const access = { permissions: permissionsOf(payload), ...senderOf(payload) };
      entries.set(digest, { access, expiresAt: (Number(payload.exp) + CLOCK_TOLERANCE_S) * 1_000 });
      return access;
    } catch (error) {
      if (error instanceof PlantStoreError) throw error;
      if (error instanceof errors.JOSEError) logRefusal(error);
      else log.warn({ err: error }, 'a key of JWT_JWKS_URL cannot be used');
      return undefined;
    }
  }

  /** Logs a refusal without its message, which may repeat content of the token. */
  function logRefusal({ code, claim }: errors.JOSEError & { readonly claim?: unknown }): void {
    const reason = typeof claim === 'string' ? `${code} ${claim}` : code;
    const now = performance.now();
    if (now - (refusals.get(reason) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_MS) return;
    refusals.set(reason, now);
    log.info({ reason }, 'a signed token is not accepted');
  }

  function permissionsOf(payload: JWTPayload): Permissions {
    const scopes = scopesIn(scopeClaims, payload);
    const permits = (scope: string | undefined) => scope === undefined || scopes.includes(scope);
    const permissions: Permission[] = [];
    if (permits(readScope)) permissions.push('read');
    if (permits(writeScope)) permissions.push('create');
    if (writeScope !== undefined && permits(writeScope)) permissions.push('change');
    return new Set(permissions);
  }

  keys.refresh();
  return (token) => {
    keys.refresh();
    if (keys.current() !== cacheKeys) {
      cacheKeys = keys.current();
      cache = new Map();
    }
    const digest = hash('sha256', token, 'base64');
    const entry = cache.get(digest);
    return entry !== undefined && Date.now() < entry.expiresAt ? entry.access : verify(token, digest);
  };
}

/**
 * Decoders ignore white space, padding and the unused bits of the last letter, so some altered signatures would still be
 * accepted. The other two parts cannot vary: the signature covers their exact spelling.
 */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

/** Whether a token is for one of these audiences. A provider whose tokens have no `aud`, such as Cognito, names a client. */
function isFor(audiences: readonly string[], { aud, client_id: client }: JWTPayload): boolean {
  const tokenAudiences: unknown[] = aud === undefined ? [client] : [aud].flat();
  return audiences.some((audience) => tokenAudiences.includes(audience));
}

/**
 * In `scope`, spaces separate the scopes (RFC 8693 section 4.2). Another claim is such a text or a list. An item of a list
 * may contain spaces, as names of groups do, and is one scope.
 */
function scopesIn(claims: readonly string[], payload: JWTPayload): unknown[] {
  const values = claims.map((claim) => claimAt(claim, payload));
  return values.flatMap((value) => (typeof value === 'string' ? value.split(' ') : value));
}

/** The claim of this name, or else the value at this path. Names may contain dots, too, as URLs and `kubernetes.io` do. */
function claimAt(path: string, parent: unknown): unknown {
  const claims = Object(parent) as Record<string, unknown>;
  const inner = [...path.matchAll(/\./g)].map(({ index }) =>
    claimAt(path.slice(index + 1), claims[path.slice(0, index)]),
  );
  return claims[path] ?? inner.find((claim) => claim !== undefined);
}

/** The subject and the client of a token (RFC 9068 section 2.2), cut to the lengths that OpenID Connect permits. */
function senderOf({ sub, client_id: client }: JWTPayload): Omit<Access, 'permissions'> {
  const text = (claim: unknown) => (typeof claim === 'string' ? claim.slice(0, 255) : undefined);
  return { who: text(sub), clientId: text(client) };
}
