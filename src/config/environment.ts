import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** Completes ".env must ...". */
const FORM = 'be UTF-8, with lines like NAME=value, NAME="a value with #", NAME=value # comment or # comment';

const QUOTED = /^=[ \t]*("[^"]*"|'[^']*'|`[^`]*`)[ \t]*([ \t]#.*)?$/;

/**
 * The environment variables, completed by .env in the working directory. An empty variable counts as not set. `process.env`
 * stays as it is.
 *
 * @throws Error, saying what to change, if the file cannot be read, or has a line that parseEnv would skip, cut or join
 * with others
 */
export function environment(): NodeJS.ProcessEnv {
  // Editors on Windows put a byte order mark before the first name; Node.js treats it as a part of the name.
  const lines = envFile()
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/);
  const wrongLines = lines.flatMap((line, n) => (isClear(line) ? [] : n + 1));
  // A line itself may be a token.
  if (wrongLines.length > 0) throw new Error(`.env must ${FORM}, unlike line ${wrongLines.join(', ')}`);
  const ownVariables = Object.entries(process.env).filter(([, value]) => value !== '');
  // Each line is parsed alone: after `NAME= `, parseEnv would take the next line as the value.
  return Object.assign({}, ...lines.map((line) => parseEnv(line)), Object.fromEntries(ownVariables));
}

/**
 * Whether parseEnv takes the line for what it says. It skips a line that is no assignment, so that `DATABASE_URL: ...` would
 * start an empty store. It joins all lines up to a closing quote. It cuts `token#1` to `token`.
 */
function isClear(line: string): boolean {
  if (/^[ \t]*(#|$)/.test(line)) return true;
  const [, value] = /^[ \t]*(?:export +)?[\w.-]+[ \t]*(=[^\r]*)$/.exec(line) ?? [];
  if (value === undefined) return false;
  return /^=[ \t]*["'`]/.test(value) ? QUOTED.test(value) : !/^[^#]*[^ \t#]#/.test(value);
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
