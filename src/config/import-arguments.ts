import { parseArgs } from 'node:util';
import { type ListFormat, listFormat } from './list-format.ts';

export const USAGE = `Usage: npm run import -- FILE [--format ndjson|csv] [--rejected FILE]

Creates every plant of a list in the database of DATABASE_URL, else in the embedded one in DATA_DIR.
What is there already stays as it is, so it is safe to interrupt and to run again.

  FILE              the list, in UTF-8; - is standard input
  --format FORMAT   ndjson or csv, if FILE does not end with .ndjson, .jsonl or .csv
  --rejected FILE   where refused plants go, and why; else FILE.rejected.ndjson, for - stdin.rejected.ndjson
  -h, --help        shows this

Exit codes: 0 every plant is in the database; 1 it did not begin, or could not go on; 2 some plants were refused;
130, 143 it was interrupted by Ctrl-C, by SIGTERM.

Example: npm run import -- examples/plants.ndjson --rejected refused.ndjson`;

interface ImportArguments {
  /** `-` is standard input. */
  readonly path: string;
  readonly format: ListFormat;
  /** Where refused entries go. */
  readonly rejectedPath: string;
}

/**
 * Reads the command line of npm run import.
 *
 * @throws Error, saying what is wrong with it and how to get help
 */
export function importArguments(args: readonly string[]): ImportArguments | 'help' {
  try {
    return understood(args);
  } catch (error) {
    throw new Error(`${(error as Error).message}\nFor help: npm run import -- --help`);
  }
}

function understood(args: readonly string[]): ImportArguments | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { format: { type: 'string' }, rejected: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return 'help';
  const [path, ...more] = positionals;
  if (path === undefined) throw new Error('no list is named: name a file, or - for standard input');
  if (more.length > 0) throw new Error(`one list at a time, not ${positionals.join(', ')}`);
  const rejectedPath = values.rejected ?? `${path === '-' ? 'stdin' : path}.rejected.ndjson`;
  return { path, format: listFormat(path, values.format), rejectedPath };
}
