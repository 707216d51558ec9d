import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';

/**
 * The process's environment, and what the file .env of its folder adds to it: an empty variable counts as not set.
 *
 * @throws Error if that cannot be read
 */
export function environment(): NodeJS.ProcessEnv {
  if (existsSync('.env')) {
    const text = readFileSync('.env', 'utf8');
    if (text.includes('\0')) throw new Error('.env must be in UTF-8: it seems to be in UTF-16');
    // Editors on Windows put a byte order mark before the first name; Node.js treats it as a part of that.
    const added = parseEnv(text.replace(/^\uFEFF/, ''));
    for (const [name, value] of Object.entries(added)) process.env[name] ||= value;
  }
  return process.env;
}
