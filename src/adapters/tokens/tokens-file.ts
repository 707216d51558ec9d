import { constants, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';

/** A file of tokens, and those that it contained at start. */
export interface TokensFile {
  /** The environment variable that names it. */
  readonly variable: string;
  readonly path: string;
  readonly tokens: readonly string[];
}

/** A rule: its wording for errors, and a parser that returns undefined for invalid input. */
interface TokensRule {
  readonly mustBe: string;
  readonly parse: (text: string) => readonly string[] | undefined;
}

/** Milliseconds between two polls of the file. */
const POLL_INTERVAL = 1_000;

/**
 * Follows a file of tokens while the service runs. Content that two successive polls find the same counts as complete,
 * since one may fall into the middle of a write. Complete but invalid content is logged, and the tokens before it stay
 * accepted. It polls because no file system event covers every way to change a file: written in place, renamed over, or
 * behind a link that is swapped, as Kubernetes does.
 *
 * @param take called with all tokens of the file whenever they have changed
 * @returns a function that stops it; it does not keep the process alive
 */
export function followTokensFile(
  { variable, path, tokens: initial }: TokensFile,
  rule: TokensRule,
  log: Logger,
  take: (tokens: readonly string[]) => void,
  { read = textOf, interval = POLL_INTERVAL } = {},
): () => void {
  // A pipe is empty once it has been read.
  if (isPipe(path)) return () => {};
  let seen: string | undefined;
  let taken: string | undefined = initial.join();
  let ended = false;
  let timer = nextPoll();

  function nextPoll(): NodeJS.Timeout {
    return setTimeout(poll, interval).unref();
  }

  async function poll(): Promise<void> {
    const text = await read(path).catch(() => '');
    if (ended) return;
    if (text === seen) judge(rule.parse(text));
    seen = text;
    timer = nextPoll();
  }

  function judge(tokens: readonly string[] | undefined): void {
    if (tokens?.join() === taken) return;
    taken = tokens?.join();
    if (tokens === undefined) {
      log.error(`${variable} must contain ${rule.mustBe}; the tokens it had before stay accepted`);
    } else {
      take(tokens);
      log.info({ tokens: tokens.length }, `the tokens of ${variable} have changed`);
    }
  }

  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/** A non-blocking read returns from a pipe that no longer has a writer; a plain one would not. */
function textOf(path: string): Promise<string> {
  return readFile(path, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NONBLOCK });
}

/** Whether it can be read only once. */
export function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() ?? false;
}
