import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { contentOf } from '../config/file-rule.ts';

/** Milliseconds between two readings. */
const INTERVAL = 1_000;

/**
 * Reads the tokens files again and again. A change counts once two successive readings are equal, since one may fall
 * into the middle of a write. Files that the service could not have started with are logged and change nothing. The
 * files are polled, because no event of the file system covers every way to change a file: written in place, renamed
 * over, or behind a link that is swapped, as Kubernetes does.
 *
 * @param apply called with the accepted tokens whenever they have changed
 * @returns a function that stops it; it does not keep the process alive
 */
export function followTokens(
  { tokens, tokenFiles, readTokens }: Pick<Config, 'tokens' | 'tokenFiles' | 'readTokens'>,
  log: Logger,
  apply: (tokens: Config['tokens']) => void,
  interval = INTERVAL,
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
    const found = resultOrError(readTokens);
    // It reads the files itself, which may have changed in between: then the next readings decide.
    if (contents() !== reading) return;
    settled = reading;
    if (typeof found === 'string') {
      log.error(`${found.replaceAll('\n', '; ')}. The tokens before stay accepted`);
      return;
    }
    if (JSON.stringify(found) === accepted) return;
    accepted = JSON.stringify(found);
    apply(found);
    log.info({ tokens: found.full.length, readTokens: found.reading.length }, 'the accepted tokens have changed');
  }, interval).unref();
  return () => clearInterval(timer);
}

/** What a function returns, or the message of the error that it throws. */
function resultOrError<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return (error as Error).message;
  }
}
