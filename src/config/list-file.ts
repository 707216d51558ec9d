import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';
import type { Reader } from './config-reader.ts';
import type { Rule } from './config-rules.ts';
import type { Variable } from './variables.ts';

/** A larger file, such as a log, was named by mistake. */
const MAX_BYTES = 1024 ** 2;

/**
 * Reads the file that a variable names. A problem repeats neither the path, which may be a token that was put into the
 * wrong variable, nor the content.
 *
 * @param rule for the content, which holds for each of its lines, too
 * @returns the items of the file; none if the variable is not set, or after noting a problem
 */
export function listInFile<T>(
  { name }: Variable<unknown>,
  path: string | undefined,
  rule: Rule<readonly T[]>,
  problem: Reader['problem'],
): readonly T[] {
  try {
    return path === undefined ? [] : parsed(contentOf(path), rule);
  } catch (error) {
    const { errno, message } = error as NodeJS.ErrnoException;
    const reason = errno === undefined ? message : getSystemErrorMessage(errno);
    problem(`${name} must name a file that contains ${rule.mustBe} (${reason})`);
    return [];
  }
}

function parsed<T>(content: string, rule: Rule<readonly T[]>): readonly T[] {
  const list = rule.parse(content);
  if (list !== undefined) return list;
  const lines = content.split('\n');
  const wrong = lines.findIndex((line) => /[^\s,]/.test(line) && rule.parse(line) === undefined);
  throw new Error(wrong < 0 ? 'it is empty' : `line ${wrong + 1} is wrong`);
}

/** @throws Error, Node's own or saying what the file is not */
export function contentOf(path: string): string {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    // A pipe could be read only once, and the files of tokens are read again and again.
    if (!stats.isFile() || stats.size > MAX_BYTES) throw new Error('it is not a regular file of at most 1 MiB');
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}
