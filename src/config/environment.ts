import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Environment } from './config-reader.ts';

/** A comment, or a variable as parseEnv reads it, whose value may be quoted and then have several lines. */
const ENTRY = /^[ \t]*(?:#|(?:export +)?[\w.-]+[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|`[^`]*`)?)[^\n]*/gm;

/**
 * The process's environment, and what the file .env of its folder adds to it: an empty variable counts as not set. The
 * environment of the process itself stays as it is.
 *
 * @throws Error, saying what to change, if the file cannot be read or has a line that is neither a variable nor a
 * comment
 */
export function environment(): Environment {
  // Editors on Windows put a byte order mark before the first name; Node.js treats it as a part of the name.
  const text = envFile().replace(/^\uFEFF/, '');
  // parseEnv skips all other lines, so that `DATABASE_URL: ...` would start an empty store.
  const others = text.replace(ENTRY, (entry) => entry.replace(/[^\n]/g, '')).split('\n');
  const wrong = others.flatMap((line, n) => (line.trim() === '' ? [] : n + 1));
  // Such a line may be a token.
  if (wrong.length > 0) {
    throw new Error(
      `.env must be UTF-8, with lines like NAME=value and comments with #, unlike line ${wrong.join(', ')}`,
    );
  }
  const own = Object.entries(process.env).filter(([, value]) => value !== '');
  return { ...parseEnv(text), ...Object.fromEntries(own) };
}

function envFile(): string {
  try {
    return readFileSync('.env', 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return '';
    throw new Error(`.env in ${process.cwd()} cannot be read (${message}): correct or remove it`);
  }
}
