import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/** What the lines of .env must be, in words that complete ".env must ...". */
const FORM = 'be UTF-8, with lines like NAME=value and comments with #';
const QUOTES = 'close each quote on the line where it opens, with nothing but a comment after it';
const COMMENTS = 'have a space before a comment, and quotes around a value with #';

const QUOTED = /^=[ \t]*("[^"]*"|'[^']*'|`[^`]*`)[ \t]*([ \t]#.*)?$/;

/**
 * The process's environment, and what the file .env of its folder adds to it: an empty variable counts as not set. The
 * environment of the process itself stays as it is.
 *
 * @throws Error, saying what to change, if the file cannot be read, or has a line that parseEnv would skip, cut or join
 * with others
 */
export function environment(): NodeJS.ProcessEnv {
  // Editors on Windows put a byte order mark before the first name; Node.js treats it as a part of the name.
  const lines = envFile()
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/);
  const problems = [FORM, QUOTES, COMMENTS].flatMap((rule) => {
    const wrong = lines.flatMap((line, n) => (ruleBrokenBy(line) === rule ? n + 1 : []));
    // Such a line may be a token.
    return wrong.length > 0 ? `.env must ${rule}, unlike line ${wrong.join(', ')}` : [];
  });
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const own = Object.entries(process.env).filter(([, value]) => value !== '');
  // Line by line: parseEnv takes the line after `NAME= ` for its value.
  return Object.assign({}, ...lines.map((line) => parseEnv(line)), Object.fromEntries(own));
}

/**
 * parseEnv skips what is no variable, so that `DATABASE_URL: ...` would start an empty store, takes all lines up to the
 * next quote into a value, and cuts `token#1`, whose first part would then be the token.
 */
function ruleBrokenBy(line: string): string | undefined {
  if (/^[ \t]*(#|$)/.test(line)) return undefined;
  const [, value] = /^[ \t]*(?:export +)?[\w.-]+[ \t]*(=[^\r]*)$/.exec(line) ?? [];
  if (value === undefined) return FORM;
  if (/^=[ \t]*["'`]/.test(value)) return QUOTED.test(value) ? undefined : QUOTES;
  return /^[^#]*[^ \t#]#/.test(value) ? COMMENTS : undefined;
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
