/** A format of lists of plants in files. */
export type ListFormat = 'ndjson' | 'csv';

const FORMATS = { ndjson: 'ndjson', jsonl: 'ndjson', csv: 'csv' } as const;

/** The one list that is named; `-` is the stream. @throws Error if there is none, or more than one */
export function listPath(positionals: readonly string[], stream: string): string {
  const [path, ...more] = positionals;
  if (path === undefined) throw new Error(`no list is named: name a file, or - for ${stream}`);
  if (more.length > 0) throw new Error(`one list at a time, not ${positionals.join(', ')}`);
  return path;
}

/**
 * Chooses the format of a list.
 *
 * @param path of the list; `-` is a standard stream
 * @param named the value of --format, if it is given
 * @throws Error, saying what to do, if neither names a format
 */
export function listFormat(path: string, named: string | undefined): ListFormat {
  const name = (named ?? /\.(\w+)$/.exec(path)?.[1] ?? '').toLowerCase();
  if (Object.hasOwn(FORMATS, name)) return FORMATS[name as keyof typeof FORMATS];
  if (named !== undefined) throw new Error(`--format must be ndjson or csv, not ${named}`);
  const why = path === '-' ? '- has no extension' : `${path} ends with none of .ndjson, .jsonl and .csv`;
  throw new Error(`${why}: add --format ndjson or --format csv`);
}
