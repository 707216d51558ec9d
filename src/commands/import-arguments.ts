import { parseArgs } from 'node:util';
import { type ListFormat, listFormat, listPath } from './list-arguments.ts';

export const USAGE = `Usage: npm run import -- FILE [--format ndjson|csv] [--rejected FILE]

Creates the plants in FILE in the database of DATABASE_URL or, if that is not set, in the embedded one in DATA_DIR.
Existing plants stay as they are, so you can interrupt an import and run it again.

  FILE              the plants, in UTF-8; - for standard input
  --format FORMAT   ndjson or csv; needed unless FILE ends with .ndjson, .jsonl or .csv. The first line of CSV names
                    the columns id, name and tag, and shows whether commas, semicolons or tabs separate them
  --rejected FILE   the file for refused plants and the reasons; by default FILE.rejected.ndjson, or
                    stdin.rejected.ndjson for standard input
  -h, --help        show this help

Exit codes: 0 all plants are in the database; 1 the import could not start or could not go on; 2 some plants were
refused; 130 interrupted by Ctrl-C; 143 by SIGTERM.

Example: npm run import -- examples/plants.ndjson --rejected refused.ndjson`;

export interface ImportArguments {
  /** `-` is standard input. */
  readonly path: string;
  readonly format: ListFormat;
  /** Where refused entries go. */
  readonly rejectedPath: string;
}

/** Reads the command line. @throws Error, saying what is wrong with it */
export function importArguments(args: readonly string[]): ImportArguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { format: { type: 'string' }, rejected: { type: 'string' } },
  });
  const path = listPath(positionals, 'standard input');
  const rejectedPath = values.rejected ?? `${path === '-' ? 'stdin' : path}.rejected.ndjson`;
  return { path, format: listFormat(path, values.format), rejectedPath };
}
