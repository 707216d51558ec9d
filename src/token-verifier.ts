import type { Logger } from 'pino';
import type { TokenVerifier } from './adapters/http/bearer-auth.ts';
import { eitherToken } from './adapters/http/either-token.ts';
import { jwtTokens } from './adapters/http/jwt-tokens.ts';
import { staticTokens } from './adapters/http/static-tokens.ts';
import type { Config } from './config.ts';
import { followTokensFile } from './tokens-file.ts';

/**
 * Accepts the configured tokens, those of the file as it is at any time, and those that the identity provider signs.
 *
 * @param own the token that the service made because none of these is configured
 */
export function tokenVerifier(
  { tokens, tokensFile, jwt }: Config,
  own: string | undefined,
  log: Logger,
  opened: AsyncDisposableStack,
): TokenVerifier {
  const fixed = own === undefined ? tokens : [own];
  let known = staticTokens([...fixed, ...(tokensFile?.tokens ?? [])]);
  if (tokensFile !== undefined) {
    const unfollow = followTokensFile(tokensFile, log, (changed) => {
      known = staticTokens([...fixed, ...changed]);
    });
    opened.defer(unfollow);
  }
  const nowKnown: TokenVerifier = (token) => known(token);
  return jwt === undefined ? nowKnown : eitherToken(nowKnown, jwtTokens(jwt, log));
}
