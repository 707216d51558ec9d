import { parseArgs } from 'node:util';
import type { ListQuery } from '../application/list-plants.ts';
import { parsePlantId, plantIdRule } from '../wire/plant-id.ts';

/* The command lines of the commands for lists of plants in files. */

/** A list: its path, which is `-` for a standard stream, and its format. */
interface List {
  readonly path: string;
  readonly format: 'ndjson' | 'csv';
}

export interface ExportArguments extends List {
  readonly query: ListQuery;
  /** Whether to replace a file that exists. */
  readonly force: boolean;
}

/** @throws Error, saying what is wrong with the command line */
export function exportArguments(args: string[]): ExportArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      format: { type: 'string' },
      tag: { type: 'string' },
      after: { type: 'string' },
      force: { type: 'boolean', default: false },
    },
  });
  const list = listOf(positionals, values.format, 'standard output');
  const after = values.after === undefined ? undefined : parsePlantId(values.after);
  if (values.after !== undefined && after === undefined) throw new Error(`--after must be ${plantIdRule}`);
  return { ...list, query: { tag: values.tag, after }, force: values.force };
}

export interface ImportArguments extends List {
  /** Where refused entries go. */
  readonly rejectedPath: string;
}

/** @throws Error, saying what is wrong with the command line */
export function importArguments(args: string[]): ImportArguments {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { format: { type: 'string' }, rejected: { type: 'string' } },
  });
  const list = listOf(positionals, values.format, 'standard input');
  const rejectedPath = values.rejected ?? `${list.path === '-' ? 'stdin' : list.path}.rejected.ndjson`;
  return { ...list, rejectedPath };
}

const FORMATS = { ndjson: 'ndjson', jsonl: 'ndjson', csv: 'csv' } as const;

/**
 * The one list that is named.
 *
 * @param named the value of --format, if it is given
 * @param stream what `-` is
 * @throws Error, saying what to do, if there is none, or more than one, or nothing says which format it has
 */
function listOf(positionals: readonly string[], named: string | undefined, stream: string): List {
  const [path, ...more] = positionals;
  if (path === undefined) throw new Error(`no list is named: name a file, or - for ${stream}`);
  if (more.length > 0) throw new Error(`one list at a time, not ${positionals.join(', ')}`);
  const name = (named ?? /\.(\w+)$/.exec(path)?.[1] ?? '').toLowerCase();
  if (Object.hasOwn(FORMATS, name)) return { path, format: FORMATS[name as keyof typeof FORMATS] };
  if (named !== undefined) throw new Error(`--format must be ndjson or csv, not ${named}`);
  const why = path === '-' ? '- has no extension' : `${path} ends with none of .ndjson, .jsonl and .csv`;
  throw new Error(`${why}: add --format ndjson or --format csv`);
}
