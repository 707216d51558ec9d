import { readFileSync, statSync } from 'node:fs';
import { getSystemErrorMessage } from 'node:util';
import type { Rule } from './rules.ts';

/** A larger file, such as a log, was named by mistake. */
const FILE_BYTES_MAX = 1024 ** 2;

/**
 * The rule of a variable that names a file with a list. Its errors repeat neither the path, which may be a token that was
 * put into the wrong variable, nor the content.
 *
 * @param rule for the content, which holds for each of its lines, too
 */
export function listFile<T>({ mustBe, parse }: Rule<readonly T[]>): Rule<readonly T[]> {
  return {
    mustBe: `the path of a file that contains ${mustBe}`,
    parse(path) {
      const content = contentOf(path);
      const list = parse(content);
      if (list !== undefined) return list;
      const wrongIndex = content.split('\n').findIndex((line) => /[^\s,]/.test(line) && parse(line) === undefined);
      throw new Error(wrongIndex < 0 ? 'the file is empty' : `line ${wrongIndex + 1} is wrong`);
    },
  };
}

/** @throws Error, saying what is wrong with the file, without its path */
export function contentOf(path: string): string {
  try {
    const stats = statSync(path);
    // Opening a pipe would wait for its writer, and what is read from one is gone at the next reading.
    if (!stats.isFile() || stats.size > FILE_BYTES_MAX) throw new Error('it is not a regular file of at most 1 MiB');
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    throw errno === undefined ? error : new Error(getSystemErrorMessage(errno));
  }
}
