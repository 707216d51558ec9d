import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileFormats } from './adapters/export/formats.ts';
import { fileTarget, standardOutput } from './adapters/export/target.ts';
import { formatCount, showProgress } from './adapters/import/progress.ts';
import { type ListPlants, type ListQuery, listPlants } from './application/list-plants.ts';
import { openOfflineStore, withDatabaseMessage } from './composition/offline-store.ts';
import { type ExportArguments, exportArguments, USAGE } from './config/export-arguments.ts';
import type { ListFormat } from './config/list-format.ts';
import { runCommand } from './process/run-command.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';

/* npm run export: writes the plants of the configured database to a list (docs/import.md). */

/** The exit code, beside those of a failure and of the signals. */
const DONE = 0;

const stop = stopRequest('Stopping');

await runCommand(USAGE, exportArguments, run);
// What a stalled reader of standard output has not taken would keep an interrupted process.
if (stop.aborted && process.exitCode === stop.reason) process.exit();

/** @returns the exit code */
async function run({ path, format, query, force }: ExportArguments): Promise<number> {
  const target = path === '-' ? standardOutput() : fileTarget(path, force);
  const store = await openOfflineStore().catch((error) => {
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
    if (!stop.aborted) throw withDatabaseMessage(error, 'Run the same command again.');
    return stop.reason;
  } finally {
    hideProgress();
    await store.close();
  }
  const seconds = (performance.now() - start) / 1_000;
  say(`${formatCount(plants)} plants in ${seconds.toFixed(1)} s, ${formatCount(plants / seconds)}/s`);
  return DONE;
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
