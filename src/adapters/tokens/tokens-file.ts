import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import { tokensFile as fileRule, type TokensFile, tokens as tokensRule } from '../../config/config-rules.ts';

/** Milliseconds between two looks at the file. */
const LOOK_INTERVAL = 1_000;

/**
 * Follows ACCESS_TOKENS_FILE while the service runs. What two looks in a row find the same is taken for whole, since
 * one may fall into the middle of a write; whole and wrong content is logged, and what was taken before stays. It
 * looks, instead of listening, because no event of the file system tells of every way to change a file: written in
 * place, renamed over, or behind a link that is swapped, as Kubernetes does it.
 *
 * @param take gets all tokens of the file whenever they have changed
 * @returns a function that ends it; left alone it keeps no process alive
 */
export function followTokensFile(
  file: TokensFile,
  log: Logger,
  take: (tokens: readonly string[]) => void,
  { read = textOf, interval = LOOK_INTERVAL } = {},
): () => void {
  let seen: string | undefined;
  let taken: string | undefined = file.tokens.join();
  let ended = false;
  let timer = nextLook();

  function nextLook(): NodeJS.Timeout {
    return setTimeout(look, interval).unref();
  }

  async function look(): Promise<void> {
    const text = await read(file.path).catch(() => '');
    if (ended) return;
    if (text === seen) judge(tokensRule.parse(text));
    seen = text;
    timer = nextLook();
  }

  function judge(tokens: readonly string[] | undefined): void {
    if (tokens?.join() === taken) return;
    taken = tokens?.join();
    if (tokens === undefined) {
      log.error(`ACCESS_TOKENS_FILE must be ${fileRule.mustBe}; the tokens it had before stay accepted`);
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
