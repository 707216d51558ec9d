import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { ownToken } from '../adapters/auth/own-token.ts';
import { staticTokens } from '../adapters/auth/static-tokens.ts';
import type { Access, TokenVerifier } from '../application/permissions.ts';
import type { Config } from '../config/config.ts';
import { contentOf } from '../config/secret-file.ts';

/**
 * Sets up the configured verifiers, or else a generated token in the folder of the opened embedded database.
 *
 * @returns `verifyToken`, which accepts the configured tokens, the current tokens of the files, and tokens that the
 * identity provider has signed; and `ownToken`, which is generated if none of these is configured, and is then the only
 * accepted token
 */
export async function tokenVerifier(
  { ownTokenFile, tokenFiles, readTokens, jwt, proxy }: Config,
  log: Logger,
): Promise<{ verifyToken: TokenVerifier; ownToken: string | undefined }> {
  if (ownTokenFile !== undefined) {
    const token = await ownToken(ownTokenFile);
    return { verifyToken: staticTokens({ full: [{ token }], reading: [] }), ownToken: token };
  }
  const verifyConfigured = configuredTokens(tokenFiles, readTokens, log);
  // Imported only where it is needed: the module loads jose and an HTTP client.
  const verifySigned = jwt && (await import('../adapters/auth/jwt-tokens.ts')).jwtTokens({ ...jwt, proxy }, log);
  return { verifyToken: (token) => verifyConfigured(token) ?? verifySigned?.(token), ownToken: undefined };
}

/** Milliseconds between two readings. */
const INTERVAL_MS = 1_000;

/**
 * Accepts the configured tokens, and polls the tokens files. A change counts once two successive readings are equal, since
 * one may happen in the middle of a write. Files that the service could not have started with are logged and change nothing.
 * The files are polled because no event of the file system covers every way to change a file: written in place, renamed
 * over, or behind a link that is swapped, as Kubernetes does. The polling does not keep the process alive.
 */
function configuredTokens(
  files: Config['tokenFiles'],
  readTokens: Config['readTokens'],
  log: Logger,
): (token: string) => Access | undefined {
  let tokens = readTokens();
  let verify = staticTokens(tokens);
  let lastReading = '';
  let settledReading = '';

  function poll(): void {
    const current = resultOrError(readTokens);
    // With the contents: the same error of another content is logged again, since the tokens in it are not accepted.
    const reading = JSON.stringify([current, files.map((file) => resultOrError(() => contentOf(file)))]);
    const isSettled = reading === lastReading && reading !== settledReading;
    lastReading = reading;
    if (!isSettled) return;
    settledReading = reading;
    if (typeof current === 'string') {
      log.error(`${current.replaceAll('\n', '; ')}. The previous tokens stay accepted`);
    } else if (!isDeepStrictEqual(current, tokens)) {
      tokens = current;
      verify = staticTokens(current);
      log.info({ tokens: current.full.length, readTokens: current.reading.length }, 'the accepted tokens have changed');
    }
  }

  if (files.length > 0) setInterval(poll, INTERVAL_MS).unref();
  return (token) => verify(token);
}

/** The result of a function, or the message of the error that it throws. */
function resultOrError<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return (error as Error).message;
  }
}
