import type { Logger } from 'pino';
import { ownToken } from '../adapters/tokens/own-token.ts';
import { staticTokens } from '../adapters/tokens/static-tokens.ts';
import type { TokenVerifier } from '../application/permissions.ts';
import type { Config } from '../config/config.ts';
import { followTokens } from './follow-tokens.ts';

/**
 * Sets up the configured verifiers, or else a generated token in the folder of the opened embedded database.
 *
 * @returns `verifyToken`, which accepts the configured tokens, the current tokens of the files, and tokens that the
 * identity provider has signed; and `ownToken`, generated if none of these is configured, and then the only accepted
 * token
 * @param interval milliseconds between two readings of the tokens files
 */
export async function tokenVerifier(
  config: Pick<Config, 'ownTokenFolder' | 'tokens' | 'tokenFiles' | 'readTokens' | 'jwt' | 'proxy'>,
  log: Logger,
  opened: AsyncDisposableStack,
  interval?: number,
): Promise<{ verifyToken: TokenVerifier; ownToken: string | undefined }> {
  const { tokens, jwt, proxy, ownTokenFolder } = config;
  if (ownTokenFolder !== undefined) {
    const own = await ownToken(ownTokenFolder);
    return { verifyToken: staticTokens({ full: [own], reading: [] }), ownToken: own };
  }
  let verify = staticTokens(tokens);
  const apply = (changed: typeof tokens) => {
    verify = staticTokens(changed);
  };
  opened.defer(followTokens(config, log, apply, interval));
  // With its HTTP client and jose, which others need not load.
  const signed = jwt && (await import('../adapters/tokens/jwt-tokens.ts')).jwtTokens({ ...jwt, proxy }, log);
  return { verifyToken: (token) => verify(token) ?? signed?.(token), ownToken: undefined };
}
