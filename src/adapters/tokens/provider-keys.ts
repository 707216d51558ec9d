import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { PlantStoreError } from '../../domain/errors.ts';

/** The public keys of an identity provider. */
interface ProviderKeys {
  /**
   * Finds the key that a token names, among new ones of the provider too.
   *
   * @throws PlantStoreError `token_unverifiable` if it is unknown and the provider cannot be asked
   */
  readonly keyOf: JWTVerifyGetKey;
  /** Looks now and then, in the background, for keys that the provider has withdrawn. */
  refresh(): void;
}

/** Milliseconds from one look to the next at least, since strangers choose which keys their tokens name. */
const COOLDOWN = 5_000;

/** Milliseconds after which a withdrawn key is noticed. */
const REFRESH = 5 * 60_000;

/**
 * Fetches and keeps a JSON Web Key Set. What is known is never waited for, nor given up while the provider is down:
 * jose's own createRemoteJWKSet stops after cacheMaxAge, and asks a provider that is down for every token.
 *
 * @param timeout milliseconds that the provider may take
 * @param changed is told when the keys are others than before
 */
export function providerKeys(url: string, timeout: number, log: Logger, changed: () => void): ProviderKeys {
  let knownText = '';
  let find = createLocalJWKSet({ keys: [] });
  let lookedAt = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;
  /** Why the last look failed, if it did. */
  let failure: unknown;

  async function look(): Promise<void> {
    lookedAt = Date.now();
    try {
      const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(timeout) });
      if (!response.ok) throw new Error(`the provider answers ${response.status}`);
      const text = await response.text();
      if (text !== knownText) {
        find = createLocalJWKSet(JSON.parse(text));
        knownText = text;
        changed();
      }
      failure = undefined;
    } catch (error) {
      failure = error;
      log.warn({ err: error }, 'JWT_JWKS_URL gives no keys; those that are known go on working');
    }
    looking = undefined;
  }

  /** Looks unless that was done less than so many milliseconds ago; all that wait share one look. */
  async function lookAfter(milliseconds: number): Promise<void> {
    // A clock that was put back must not keep the keys until it has caught up.
    if (Math.abs(Date.now() - lookedAt) >= milliseconds) looking ??= look();
    await looking;
  }

  return {
    async keyOf(header, token) {
      try {
        return await find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      }
      await lookAfter(COOLDOWN);
      if (failure === undefined) return find(header, token);
      const message = 'the key of the access token cannot be fetched; sending the same request again is safe';
      throw new PlantStoreError('token_unverifiable', message, { cause: failure });
    },
    refresh: () => void lookAfter(REFRESH),
  };
}
