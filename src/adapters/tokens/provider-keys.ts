import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { PlantStoreError } from '../../domain/errors.ts';

/** Minimum milliseconds between two fetches, since unauthenticated clients choose which keys their tokens name. */
const COOLDOWN = 5_000;

/** Milliseconds until a withdrawn key is noticed. */
const REFRESH = 5 * 60_000;

/**
 * Fetches a JSON Web Key Set and caches it for as long as the provider is down. Fetches are paced here, so that a
 * provider that is down gets no request for each token.
 *
 * @param changed called when the keys differ from those before
 */
export function providerKeys(fetchKeySet: () => Promise<JSONWebKeySet>, log: Logger, changed: () => void) {
  let keys: JWTVerifyGetKey = () => {
    throw new errors.JWKSNoMatchingKey();
  };
  let known = '';
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;
  /** Why the last fetch failed, if it did. */
  let failure: unknown;

  async function fetchKeys(): Promise<void> {
    fetchedAt = Date.now();
    try {
      const set = await fetchKeySet();
      const fetched = JSON.stringify(set);
      if (fetched !== known) {
        keys = createLocalJWKSet(set);
        changed();
      }
      known = fetched;
      failure = undefined;
    } catch (error) {
      failure = error;
      log.warn({ err: error }, 'the keys of JWT_JWKS_URL could not be fetched; those fetched before stay valid');
    }
    fetching = undefined;
  }

  /** Fetches if the last fetch was at least this long ago. Concurrent callers share one fetch. */
  async function fetchAfter(milliseconds: number): Promise<void> {
    // The difference is negative when the clock was set back.
    if (Math.abs(Date.now() - fetchedAt) >= milliseconds) fetching ??= fetchKeys();
    await fetching;
  }

  /**
   * Finds the key that a token names, fetching the keys anew if it is unknown.
   *
   * @throws PlantStoreError `token_unverifiable` if it is unknown and the provider cannot be reached
   */
  const keyOf: JWTVerifyGetKey = async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    }
    await fetchAfter(COOLDOWN);
    if (failure === undefined) return keys(header, token);
    const message = 'the key of the access token cannot be fetched; sending the same request again is safe';
    throw new PlantStoreError('token_unverifiable', message, { cause: failure });
  };

  return {
    keyOf,
    /** Fetches the keys in the background if the last fetch was long ago, to drop those that were withdrawn. */
    refresh: () => void fetchAfter(REFRESH),
  };
}
