import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

const USAGE = 'Usage: npm run import -- FILE [--format ndjson|csv] [--rejected FILE], with - for standard input';

const FORMATS = { ndjson: 'ndjson', jsonl: 'ndjson', csv: 'csv' } as const;

interface ImportArguments {
  /** `-` is standard input. */
  readonly path: string;
  readonly format: 'ndjson' | 'csv';
  /** Where refused entries go. */
  readonly rejectedPath: string;
}

/** Reads the command line of npm run import. @throws Error, saying how to use it */
export function importArguments(args: readonly string[]): ImportArguments {
  const { values, positionals } = parsed(args);
  const [path, ...rest] = positionals;
  const name = (values.format ?? /\.(\w+)$/.exec(path ?? '')?.[1] ?? '').toLowerCase();
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name as keyof typeof FORMATS] : undefined;
  if (path === undefined || rest.length > 0 || format === undefined) throw new Error(USAGE);
  const rejectedPath = values.rejected ?? `${path === '-' ? 'stdin' : path}.rejected.ndjson`;
  if (resolve(path) === resolve(rejectedPath)) throw new Error('what is refused must go into a file of its own');
  return { path, format, rejectedPath };
}

function parsed(args: readonly string[]) {
  try {
    const options = { format: { type: 'string' }, rejected: { type: 'string' } } as const;
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch {
    throw new Error(USAGE);
  }
}
