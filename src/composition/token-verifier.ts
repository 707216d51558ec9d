import type { Logger } from 'pino';
import { jwtTokens } from '../adapters/tokens/jwt-tokens.ts';
import { ownToken } from '../adapters/tokens/own-token.ts';
import { staticTokens } from '../adapters/tokens/static-tokens.ts';
import { followTokensFile, type TokensFile } from '../adapters/tokens/tokens-file.ts';
import { allPermissions, type Permissions, readOnly, type TokenVerifier } from '../application/permissions.ts';
import type { Config } from '../config/config.ts';
import { tokens as tokensRule } from '../config/config-rules.ts';

/**
 * Sets up the configured verifiers, or else a generated token in the folder of the opened embedded database.
 *
 * @returns `verifyToken`, which accepts the configured tokens, those currently in the tokens files, and those that the
 * identity provider signed; and `ownToken`, the only accepted one, generated because none of these is configured
 */
export async function tokenVerifier(
  { database, tokens, tokensFile, readTokens, readTokensFile, jwt }: Omit<Config, 'management'>,
  log: Logger,
  opened: AsyncDisposableStack,
): Promise<{ verifyToken: TokenVerifier; ownToken: string | undefined }> {
  const isConfigured = [...tokens, ...readTokens, tokensFile, readTokensFile, jwt].some((given) => given !== undefined);
  const own = !isConfigured && database.kind === 'embedded' ? await ownToken(database.dataDir) : undefined;

  function listed(fixed: readonly string[], file: TokensFile | undefined, permissions: Permissions) {
    let verify = staticTokens([...fixed, ...(file?.tokens ?? [])], permissions);
    if (file !== undefined) {
      const unfollow = followTokensFile(file, tokensRule, log, (changed) => {
        verify = staticTokens([...fixed, ...changed], permissions);
      });
      opened.defer(unfollow);
    }
    return (token: string) => verify(token);
  }

  const full = listed(own === undefined ? tokens : [own], tokensFile, allPermissions);
  const reading = listed(readTokens, readTokensFile, readOnly);
  const signed = jwt && jwtTokens(jwt, log);
  return { verifyToken: (token) => full(token) ?? reading(token) ?? signed?.(token), ownToken: own };
}
