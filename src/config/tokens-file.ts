import type { TokensFile } from '../adapters/tokens/tokens-file.ts';
import { readWithin } from '../process/bounded-read.ts';
import { tokens } from './config-rules.ts';

/** What a variable that names such a file must be, in words. */
export const TOKENS_FILE = `a readable file, or a pipe that is being written, with ${tokens.mustBe}`;

/** Milliseconds that the writer of a pipe may take. */
const PIPE_TIMEOUT = 5_000;

/** @returns undefined if the file cannot be read or contains anything but tokens */
export function tokensIn(variable: string, path: string): TokensFile | undefined {
  try {
    const list = tokens.parse(readWithin(path, PIPE_TIMEOUT));
    return list && { variable, path, tokens: list };
  } catch {
    return undefined;
  }
}
