import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { getSystemErrorMessage } from 'node:util';
import type { Variables } from './config-reader.ts';
import { type Rule, text } from './config-rules.ts';
import type { Variable } from './variables.ts';

/** Beyond this it is another file, such as a log, that was named by mistake. */
const MAX_BYTES = 1024 ** 2;

/**
 * Reads the file that a variable names.
 *
 * @param rule of its content, which holds for each of its lines, too
 * @param what it contains
 * @returns what it lists; nothing if the variable is not set, or after noting a problem
 */
export function inFile<T>(
  name: Variable,
  rule: Rule<readonly T[]>,
  what: string,
  { read, problem }: Variables,
): readonly T[] {
  const path = read(name, text);
  try {
    return path === undefined ? [] : parsed(contentOf(path, what), rule);
  } catch (error) {
    problem(`${name} names ${(error as Error).message}`);
    return [];
  }
}

/*
 * The errors repeat neither the path nor the content: a path may be a token that was put into the wrong variable.
 */

function parsed<T>(content: string, rule: Rule<readonly T[]>): readonly T[] {
  if (!/[^\s,]/.test(content)) throw new Error(`an empty file: it must contain ${rule.mustBe}`);
  const list = rule.parse(content);
  if (list !== undefined) return list;
  const lines = content.split('\n');
  const wrong = lines.findIndex((line) => /[^\s,]/.test(line) && rule.parse(line) === undefined);
  throw new Error(`a file whose line ${wrong + 1} is wrong: it must contain ${rule.mustBe}`);
}

function contentOf(path: string, what: string): string {
  const fd = open(path);
  try {
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new Error(`a folder: name the file in it that contains the ${what}`);
    if (stats.isFIFO()) throw new Error(`a pipe, which can be read only once: write the ${what} to a file`);
    if (!stats.isFile()) throw new Error(`neither a file nor a link to one: write the ${what} to a file`);
    if (stats.size > MAX_BYTES) throw new Error(`a file of more than 1 MiB: name the one that contains the ${what}`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

function open(path: string): number {
  try {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, errno = 0 } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') {
      throw new Error(`a file that cannot be read (${getSystemErrorMessage(errno)}): fix that, or name another one`);
    }
    const where = isAbsolute(path) ? '' : ` in ${process.cwd()}`;
    throw new Error(`a file that does not exist${where}: create it, or correct the path`);
  }
}
