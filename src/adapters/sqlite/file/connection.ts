import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { FileError } from './failures.ts';

/** Of SQLite: earlier ones have a defect that may damage a file whose WAL is reset while another process writes. */
const OLDEST = '3.51.3';

/**
 * Opens a file as every connection of this program must: what is committed is synced, and SQLite makes no checkpoint of its
 * own but at the end of the last connection. Nothing waits for the lock of another process.
 *
 * @param prepare closes the connection by what it throws
 */
export function openConnection(
  path: string | URL,
  { readOnly = false, prepare = (_: DatabaseSync) => {} } = {},
): DatabaseSync {
  const { sqlite = '' } = process.versions;
  if (sqlite.localeCompare(OLDEST, 'en', { numeric: true }) < 0) {
    throw new FileError(`this Node.js has SQLite ${sqlite}, and ${OLDEST} is needed: install a newer Node.js 24`);
  }
  const sql = new DatabaseSync(path, { readOnly, readBigInts: true });
  try {
    sql.exec('pragma wal_autocheckpoint = 0; pragma synchronous = full; pragma temp_store = memory');
    if (!readOnly)
      sql.exec('pragma journal_mode = wal; pragma journal_size_limit = 16777216; pragma cache_size = -16000');
    sql.function('clock_time', () => BigInt(Date.now()));
    sql.function('folded', { deterministic: true }, (text) => folded(String(text)));
    prepare(sql);
    return sql;
  } catch (error) {
    sql.close();
    throw error;
  }
}

/** A file with parameters of SQLite (https://www.sqlite.org/uri.html). */
export function fileAddress(path: string, parameters: string): URL {
  return new URL(`${pathToFileURL(resolve(path)).href}?${parameters}`);
}

/** More marks behind each other than any writing has (UAX 15 section 13); the time to normalize them grows with their square. */
const MANY_MARKS = /\p{M}{31}/u;

/**
 * A text as a search compares it: letters in either case and composed in either way are the same, except among too many
 * marks. `toLowerCase` makes another letter of a sigma that ends a word, so that a text would not be found in a longer word.
 */
function folded(text: string): string {
  const lower = text.toLowerCase().replaceAll('ς', 'σ');
  return MANY_MARKS.test(lower) ? lower : lower.normalize('NFC');
}

/** A statement whose rows have this type. */
export function statement<Row>(sql: DatabaseSync, text: string) {
  const prepared = sql.prepare(text);
  type Values = (string | bigint | number | null)[];
  return {
    get: (...values: Values) => prepared.get(...values) as unknown as Row | undefined,
    all: (...values: Values) => prepared.all(...values) as unknown as Row[],
    /** @returns how many rows it has changed */
    run: (...values: Values) => Number(prepared.run(...values).changes),
  };
}
