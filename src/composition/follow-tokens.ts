import { stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { checked } from '../config/config-reader.ts';
import { type TokenLists, tokenLists } from '../config/token-lists.ts';

/** Milliseconds between two polls. */
const POLL_INTERVAL = 1_000;

/**
 * Polls the tokens files. What two successive polls find the same counts as complete, since one may fall into the middle
 * of a write. Files that the service could not have started with are logged and change nothing. It polls because no file
 * system event covers every way to change a file: written in place, renamed over, or behind a link that is swapped, as
 * Kubernetes does.
 *
 * @param apply called with the accepted tokens whenever they have changed
 * @returns a function that stops it; it does not keep the process alive
 */
export function followTokens(
  { tokens, tokenSources }: Pick<Config, 'tokens' | 'tokenSources'>,
  log: Logger,
  apply: (tokens: TokenLists) => void,
  interval = POLL_INTERVAL,
): () => void {
  const { ACCESS_TOKENS_FILE, READ_TOKENS_FILE } = tokenSources;
  const files = [ACCESS_TOKENS_FILE, READ_TOKENS_FILE].filter((path) => path !== undefined);
  let accepted = JSON.stringify(tokens);
  let seen = '';
  let applied: string | undefined;
  let reported: string | undefined;
  let timer = files.length > 0 ? nextPoll() : undefined;
  let isStopped = false;

  function nextPoll(): NodeJS.Timeout {
    return setTimeout(poll, interval).unref();
  }

  async function poll(): Promise<void> {
    const version = (await Promise.all(files.map(versionOf))).join(';');
    if (isStopped) return;
    if (version === seen && version !== applied) reload(version);
    seen = version;
    timer = nextPoll();
  }

  /** If that fails, it is done again with every poll, since the cause may be another than the files. */
  function reload(version: string): void {
    try {
      // With all the checks of the start.
      const found = checked(tokenSources, tokenLists);
      applied = version;
      if (reported === undefined && JSON.stringify(found) === accepted) return;
      accepted = JSON.stringify(found);
      reported = undefined;
      apply(found);
      log.info({ tokens: found.full.length, readTokens: found.reading.length }, 'the accepted tokens have changed');
    } catch (error) {
      const { message } = error as Error;
      if (reported !== version + message)
        log.error(`${message.replaceAll('\n', '; ')}. The tokens before stay accepted`);
      reported = version + message;
    }
  }

  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

/** What changes with a file: reading it blocks the event loop, which only a file that has changed is worth. */
function versionOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(
    ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(),
    (error: NodeJS.ErrnoException) => `${error.code}`,
  );
}
