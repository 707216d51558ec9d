import type { Logger } from 'pino';
import { jwtTokens } from '../adapters/tokens/jwt-tokens.ts';
import { ownToken } from '../adapters/tokens/own-token.ts';
import { staticTokens } from '../adapters/tokens/static-tokens.ts';
import { followTokensFile } from '../adapters/tokens/tokens-file.ts';
import type { TokenVerifier } from '../application/ports.ts';
import type { Config } from '../config/config.ts';
import { tokens as tokensRule } from '../config/config-rules.ts';

/** How access tokens are verified. */
interface Tokens {
  /** Accepts those that are configured, those of the file as it is at any time, and those that the provider signs. */
  readonly verifyToken: TokenVerifier;
  /** The only one that is accepted, made by the service because none of these is configured. */
  readonly ownToken: string | undefined;
}

/** Sets up what is configured, or a token in the folder of the embedded database, which must be open. */
export async function tokenVerifier(
  { database, tokens, tokensFile, jwt }: Config,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<Tokens> {
  const none = tokens.length === 0 && tokensFile === undefined && jwt === undefined;
  const own = none && database.kind === 'embedded' ? await ownToken(database.dataDir) : undefined;
  const fixed = own === undefined ? tokens : [own];
  let known = staticTokens([...fixed, ...(tokensFile?.tokens ?? [])]);
  if (tokensFile !== undefined) {
    const unfollow = followTokensFile(tokensFile, tokensRule, log, (changed) => {
      known = staticTokens([...fixed, ...changed]);
    });
    opened.defer(unfollow);
  }
  if (jwt === undefined) return { verifyToken: (token) => known(token), ownToken: own };
  const signed = jwtTokens(jwt, log);
  return { verifyToken: async (token) => (await known(token)) || signed(token), ownToken: own };
}
