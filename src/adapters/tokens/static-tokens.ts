import { hash, timingSafeEqual } from 'node:crypto';
import type { TokenVerifier } from '../../application/ports.ts';

/**
 * Accepts a fixed set of tokens. Digests have one length and tell nothing of the token, so neither the comparison nor
 * its time does; every token is compared, whichever matches.
 */
export function staticTokens(tokens: readonly string[]): TokenVerifier {
  const digests = tokens.map(digest);
  return (token) => {
    const offered = digest(token);
    return digests.filter((accepted) => timingSafeEqual(accepted, offered)).length > 0;
  };
}

function digest(token: string): Buffer {
  // Asking for the digest as a buffer is slower.
  return Buffer.from(hash('sha256', token, 'hex'));
}
