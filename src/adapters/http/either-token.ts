import type { TokenVerifier } from './bearer-auth.ts';

/** Accepts what one of two verifiers accepts; the second is asked about what the first one refuses. */
export function eitherToken(first: TokenVerifier, second: TokenVerifier): TokenVerifier {
  return async (token) => (await first(token)) || second(token);
}
