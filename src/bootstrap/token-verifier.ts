import type { Logger } from 'pino';
import { ownToken } from '../adapters/auth/own-token.ts';
import { staticTokens, type TokenLists } from '../adapters/auth/static-tokens.ts';
import type { TokenVerifier } from '../application/permissions.ts';
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
  config: Pick<Config, 'ownTokenFolder' | 'tokens' | 'tokenFiles' | 'readTokens' | 'jwt' | 'proxy'>,
  log: Logger,
  resources: AsyncDisposableStack,
): Promise<{ verifyToken: TokenVerifier; ownToken: string | undefined }> {
  const { tokens, jwt, proxy, ownTokenFolder } = config;
  if (ownTokenFolder !== undefined) {
    const own = await ownToken(ownTokenFolder);
    return { verifyToken: staticTokens({ full: [own], reading: [] }), ownToken: own };
  }
  let verify = staticTokens(tokens);
  const apply = (current: TokenLists) => {
    verify = staticTokens(current);
  };
  resources.defer(followTokens(config, log, apply));
  // Imported only where it is needed: the module loads jose and an HTTP client.
  const verifySigned = jwt && (await import('../adapters/auth/jwt-tokens.ts')).jwtTokens({ ...jwt, proxy }, log);
  return { verifyToken: (token) => verify(token) ?? verifySigned?.(token), ownToken: undefined };
}

/** Milliseconds between two readings. */
const INTERVAL_MS = 1_000;

/**
 * Polls the tokens files. A change counts once two successive readings are equal, since one may happen in the middle of a
 * write. Files that the service could not have started with are logged and change nothing. The files are polled because no
 * event of the file system covers every way to change a file: written in place, renamed over, or behind a link that is
 * swapped, as Kubernetes does.
 *
 * @param apply called with the accepted tokens whenever they have changed
 * @returns a function that stops the polling, which does not keep the process alive
 */
function followTokens(
  { tokens, tokenFiles, readTokens }: Pick<Config, 'tokens' | 'tokenFiles' | 'readTokens'>,
  log: Logger,
  apply: (tokens: TokenLists) => void,
): () => void {
  if (tokenFiles.length === 0) return () => {};
  let acceptedJson = JSON.stringify(tokens);
  let lastReading = '';
  let settledReading = '';
  const timer = setInterval(() => {
    const current = resultOrError(readTokens);
    // With the contents: the same error of another content is logged again, since the tokens in it are not accepted.
    const reading = JSON.stringify([current, tokenFiles.map((file) => resultOrError(() => contentOf(file)))]);
    const isSettled = reading === lastReading && reading !== settledReading;
    lastReading = reading;
    if (!isSettled) return;
    settledReading = reading;
    if (typeof current === 'string') {
      log.error(`${current.replaceAll('\n', '; ')}. The previous tokens stay accepted`);
      return;
    }
    if (JSON.stringify(current) === acceptedJson) return;
    acceptedJson = JSON.stringify(current);
    apply(current);
    log.info({ tokens: current.full.length, readTokens: current.reading.length }, 'the accepted tokens have changed');
  }, INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

/** The result of a function, or the message of the error that it throws. */
function resultOrError<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return (error as Error).message;
  }
}
