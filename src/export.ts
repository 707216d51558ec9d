import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileFormats } from './adapters/export/formats.ts';
import { fileTarget, standardOutput, type Target } from './adapters/export/target.ts';
import { listPlants, type PlantList } from './application/list-plants.ts';
import { type ExportArguments, exportArguments } from './commands/list-arguments.ts';
import { type OfflineStore, withOfflineStore } from './commands/offline-store.ts';
import { showProgress, totalText } from './commands/progress.ts';
import { runCommand } from './commands/run-command.ts';
import { readDatabaseConfig } from './config/config.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';

/* npm run export: writes the plants of the configured database to a list (docs/import.md). */

const USAGE = `Usage: npm run export -- FILE [--format ndjson|csv] [--tag T] [--after=ID] [--force]

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

const stop = stopRequest('Stopping');

await runCommand('export', USAGE, exportArguments, run);
// What a stalled reader of standard output has not taken would keep an interrupted process.
if (stop.aborted && process.exitCode === stop.reason) process.exit();

/** @returns the exit code */
async function run(args: ExportArguments): Promise<number> {
  const { path, force } = args;
  const config = readDatabaseConfig();
  const target = path === '-' ? standardOutput() : fileTarget(path, force);
  try {
    await withOfflineStore(config, (store) => writeList(store, args, target));
    return 0;
  } catch (error) {
    target.discard();
    if (stop.aborted) return stop.reason;
    throw writeProblem(error, path);
  }
}

async function writeList(store: OfflineStore, { format, query }: ExportArguments, target: Target): Promise<void> {
  const start = performance.now();
  let plants = 0;
  // The statistics do not know of a part, and without them only the bar is missing.
  const isWhole = query.tag === undefined && query.after === undefined;
  const total = isWhole ? await store.estimateCount().catch(() => undefined) : undefined;
  const readProgress = () => ({ plants, part: total === undefined ? undefined : Math.min(plants / total, 1) });
  const hideProgress = showProgress(readProgress, process.stderr);
  const { header, linesOf } = fileFormats[format];
  async function* parts(): AsyncIterable<string> {
    if (header !== '') yield header;
    for await (const records of batches(await listPlants(store.plants)(query))) {
      yield linesOf(records);
      plants += records.split('\n').length;
    }
  }
  try {
    await pipeline(Readable.from(parts(), { highWaterMark: 1 }), target.stream, { signal: stop });
    target.commit();
  } finally {
    hideProgress();
  }
  say(totalText(plants, (performance.now() - start) / 1_000));
}

/** Only errors of the system calls that write the list have one of these; the database's are translated. */
function writeProblem(error: unknown, path: string): unknown {
  const { syscall, message } = error as NodeJS.ErrnoException;
  if (syscall !== 'write' && syscall !== 'fsync') return error;
  const [list, advice] = path === '-' ? ['standard output', ''] : [path, ': fix that, or name another file'];
  return new Error(`${list} cannot be written (${message})${advice}`, { cause: error });
}

async function* batches({ first, others }: PlantList): AsyncIterable<string> {
  if (first !== '') yield first;
  if (others !== undefined) yield* others;
}
