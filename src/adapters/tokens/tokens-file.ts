import { constants, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

/** A file of tokens, and those that it had at start. */
interface TokensFile {
  readonly path: string;
  readonly tokens: readonly string[];
}

/** What the text of the file must be, in words, and its tokens, undefined if it is not that. */
interface TokensRule {
  readonly mustBe: string;
  readonly parse: (text: string) => readonly string[] | undefined;
}

/** Milliseconds between two polls of the file. */
const POLL_INTERVAL = 1_000;

/**
 * Follows ACCESS_TOKENS_FILE while the service runs. Content that two polls in a row find the same is taken for complete,
 * since one may fall into the middle of a write; complete and invalid content is logged, and the tokens taken before
 * stay. It polls because no event of the file system covers every way to change a file: written in place, renamed over,
 * or behind a link that is swapped, as Kubernetes does it.
 *
 * @param take gets all tokens of the file whenever they have changed
 * @returns a function that ends it; left alone it keeps no process alive
 */
export function followTokensFile(
  file: TokensFile,
  rule: TokensRule,
  log: Logger,
  take: (tokens: readonly string[]) => void,
  { read = textOf, interval = POLL_INTERVAL } = {},
): () => void {
  // What a pipe had is gone once it is read.
  if (isPipe(file.path)) return () => {};
  let seen: string | undefined;
  let taken: string | undefined = file.tokens.join();
  let ended = false;
  let timer = nextPoll();

  function nextPoll(): NodeJS.Timeout {
    return setTimeout(poll, interval).unref();
  }

  async function poll(): Promise<void> {
    const text = await read(file.path).catch(() => '');
    if (ended) return;
    if (text === seen) judge(rule.parse(text));
    seen = text;
    timer = nextPoll();
  }

  function judge(tokens: readonly string[] | undefined): void {
    if (tokens?.join() === taken) return;
    taken = tokens?.join();
    if (tokens === undefined) {
      log.error(`ACCESS_TOKENS_FILE must contain ${rule.mustBe}; the tokens it had before stay accepted`);
    } else {
      take(tokens);
      log.info({ tokens: tokens.length }, 'the tokens of ACCESS_TOKENS_FILE have changed');
    }
  }

  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** Unlike a plain read, one without blocking returns from a pipe that nobody writes to any more. */
function textOf(path: string): Promise<string> {
  return readFile(path, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NONBLOCK });
}

function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() ?? false;
}
