import { parseArgs } from 'node:util';
import type { ListQuery } from '../application/list-plants.ts';
import { parsePlantId, plantIdRule } from '../wire/plant-id.ts';
import { type ListFormat, listFormat, listPath } from './list-arguments.ts';

export const USAGE = `Usage: npm run export -- FILE [--format ndjson|csv] [--tag T] [--after=ID] [--force]

Writes every plant in the database of DATABASE_URL, else in the embedded one in DATA_DIR, to a file that npm run import
reads back. Deleted plants leave nothing in it, so it is not a backup.

  FILE              the list to write; - is standard output, with npm run --silent export
  --format FORMAT   ndjson or csv, if FILE does not end with .ndjson, .jsonl or .csv
  --tag T           only the plants with this tag
  --after=ID        only the plants with larger ids
  --force           replaces FILE if it exists
  -h, --help        shows this

Exit codes: 0 the list is complete; 1 it did not begin, or could not go on; 130, 143 it was interrupted by Ctrl-C, by
SIGTERM. A list that is not complete has the name FILE.partial, if anything of it is left.

Example: npm run export -- plants.ndjson`;

export interface ExportArguments {
  /** `-` is standard output. */
  readonly path: string;
  readonly format: ListFormat;
  readonly query: ListQuery;
  /** Whether to replace a file that exists. */
  readonly force: boolean;
}

/** Reads the command line. @throws Error, saying what is wrong with it */
export function exportArguments(args: readonly string[]): ExportArguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      format: { type: 'string' },
      tag: { type: 'string' },
      after: { type: 'string' },
      force: { type: 'boolean', default: false },
    },
  });
  const path = listPath(positionals, 'standard output');
  const after = values.after === undefined ? undefined : parsePlantId(values.after);
  if (values.after !== undefined && after === undefined) throw new Error(`--after must be ${plantIdRule}`);
  return { path, format: listFormat(path, values.format), query: { tag: values.tag, after }, force: values.force };
}
