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
  const apply = (current: TokenLists) => {
    verify = staticTokens(current);
  };
  opened.defer(followTokens(config, log, apply, interval));
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
export function followTokens(
  { tokens, tokenFiles, readTokens }: Pick<Config, 'tokens' | 'tokenFiles' | 'readTokens'>,
  log: Logger,
  apply: (tokens: TokenLists) => void,
  interval = INTERVAL_MS,
): () => void {
  if (tokenFiles.length === 0) return () => {};
  let accepted = JSON.stringify(tokens);
  let last = '';
  let settled = '';

  const contents = () => JSON.stringify(tokenFiles.map((file) => resultOrError(() => contentOf(file))));

  const timer = setInterval(() => {
    const reading = contents();
    const isSettled = reading === last && reading !== settled;
    last = reading;
    if (!isSettled) return;
    const current = resultOrError(readTokens);
    // It reads the files itself, which may have changed in between: then the next readings decide.
    if (contents() !== reading) return;
    settled = reading;
    if (typeof current === 'string') {
      log.error(`${current.replaceAll('\n', '; ')}. The tokens before stay accepted`);
      return;
    }
    if (JSON.stringify(current) === accepted) return;
    accepted = JSON.stringify(current);
    apply(current);
    log.info({ tokens: current.full.length, readTokens: current.reading.length }, 'the accepted tokens have changed');
  }, interval).unref();
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
