import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileFormats } from './adapters/export/formats.ts';
import { fileTarget, standardOutput } from './adapters/export/target.ts';
import { type ListPlants, type ListQuery, listPlants } from './application/list-plants.ts';
import { type ExportArguments, exportArguments, USAGE } from './commands/export-arguments.ts';
import type { ListFormat } from './commands/list-arguments.ts';
import { openOfflineStore, withDatabaseMessage } from './commands/offline-store.ts';
import { formatCount, showProgress } from './commands/progress.ts';
import { runCommand } from './commands/run-command.ts';
import { readDatabaseConfig } from './config/config.ts';
import { environment } from './config/environment.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';

/* npm run export: writes the plants of the configured database to a list (docs/import.md). */

/** The exit code, beside those of a failure and of the signals. */
const DONE = 0;

const stop = stopRequest('Stopping');

await runCommand('export', USAGE, exportArguments, run);
// What a stalled reader of standard output has not taken would keep an interrupted process.
if (stop.aborted && process.exitCode === stop.reason) process.exit();

/** @returns the exit code */
async function run({ path, format, query, force }: ExportArguments): Promise<number> {
  const config = readDatabaseConfig(environment());
  const target = path === '-' ? standardOutput() : fileTarget(path, force);
  const store = await openOfflineStore(config).catch((error) => {
    target.discard();
    throw error;
  });
  const start = performance.now();
  let plants = 0;
  // The statistics do not know of a part, and without them only the bar is missing.
  const isWhole = query.tag === undefined && query.after === undefined;
  const total = isWhole ? await store.estimateCount().catch(() => undefined) : undefined;
  const readProgress = () => ({ plants, part: total === undefined ? undefined : Math.min(plants / total, 1) });
  const hideProgress = showProgress(readProgress, process.stderr);
  try {
    const parts = partsOf(listPlants(store.plants), query, format, (count) => {
      plants += count;
    });
    await pipeline(Readable.from(parts, { highWaterMark: 1 }), target.stream, { signal: stop });
    target.commit();
  } catch (error) {
    target.discard();
    if (!stop.aborted) throw withDatabaseMessage(writeProblem(error, path), 'Run the same command again.');
    return stop.reason;
  } finally {
    hideProgress();
    await store.close();
  }
  const seconds = (performance.now() - start) / 1_000;
  say(`${formatCount(plants)} plants in ${seconds.toFixed(1)} s, ${formatCount(plants / seconds)}/s`);
  return DONE;
}

/** Only errors of the system calls that write the list have one of these; the database's are translated. */
function writeProblem(error: unknown, path: string): unknown {
  const { syscall, message } = error as NodeJS.ErrnoException;
  if (syscall !== 'write' && syscall !== 'fsync') return error;
  const [list, advice] = path === '-' ? ['standard output', ''] : [path, ': fix that, or name another file'];
  return new Error(`${list} cannot be written (${message})${advice}`, { cause: error });
}

/** @param wrote called with the number of plants in each part */
async function* partsOf(
  list: ListPlants,
  query: ListQuery,
  format: ListFormat,
  wrote: (plants: number) => void,
): AsyncIterable<string> {
  const { header, linesOf } = fileFormats[format];
  if (header !== '') yield header;
  const { first, others } = await list(query);
  for await (const records of batches(first, others)) {
    yield linesOf(records);
    wrote(records.split('\n').length);
  }
}

async function* batches(first: string, others: AsyncIterable<string> | undefined): AsyncIterable<string> {
  if (first !== '') yield first;
  if (others !== undefined) yield* others;
}
