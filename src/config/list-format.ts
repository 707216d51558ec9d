/** A format of lists of plants in files. */
export type ListFormat = 'ndjson' | 'csv';

const FORMATS = { ndjson: 'ndjson', jsonl: 'ndjson', csv: 'csv' } as const;

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
