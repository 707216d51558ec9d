import { csvEntries } from './adapters/import/csv.ts';
import type { Entry } from './adapters/import/entry.ts';
import { entryCount, importPlants, refusedCount } from './adapters/import/import-plants.ts';
import { linesOf } from './adapters/import/lines.ts';
import { ndjsonEntries } from './adapters/import/ndjson.ts';
import { showProgress } from './adapters/import/progress.ts';
import { rejectedFile } from './adapters/import/rejected-file.ts';
import { openSource, type Source } from './adapters/import/source.ts';
import { summary } from './adapters/import/summary.ts';
import type { PostgresPlants } from './adapters/postgres/plant-repository.ts';
import { useCases } from './application/use-cases.ts';
import { openOfflineStore, withDatabaseMessage } from './composition/offline-store.ts';
import { type ImportArguments, importArguments, USAGE } from './config/import-arguments.ts';
import { runCommand } from './process/run-command.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';
import { jsonParser } from './wire/object-parser.ts';
import { NewPlant } from './wire/schemas.ts';

/* npm run import: imports a list of plants into the configured database (docs/import.md). */

/** Exit codes, beside those of a failure and of the signals: every plant is stored; some plants were refused. */
const DONE = 0;
const REFUSED = 2;

const stop = stopRequest('Finishing the plants in flight');

await runCommand(USAGE, importArguments, run);

/** @returns the exit code */
async function run({ path, format, rejectedPath }: ImportArguments): Promise<number> {
  const source = await openSource(path, stop);
  let store: Awaited<ReturnType<typeof openOfflineStore>> | undefined;
  try {
    store = await openOfflineStore({ mayCreate: true });
    const lines = linesOf(source.chunks);
    const list = format === 'csv' ? csvEntries(lines) : ndjsonEntries(lines, jsonParser(NewPlant, 'the line'));
    return await importList(list, source, rejectedPath, store.plants);
  } finally {
    source.close();
    await store?.close();
  }
}

async function importList(
  list: AsyncIterable<readonly Entry[]>,
  source: Source,
  rejectedPath: string,
  plants: PostgresPlants,
): Promise<number> {
  const tally = { stored: 0, conflicting: 0, invalid: 0 };
  const rejected = rejectedFile(rejectedPath, source.stats);
  const start = performance.now();
  const readProgress = () => ({
    plants: entryCount(tally),
    part: source.size ? Math.min(source.bytesRead() / source.size, 1) : undefined,
  });
  const hideProgress = showProgress(readProgress, process.stderr);
  try {
    await importPlants(list, { ...useCases(plants), reject: rejected.add, tally, signal: stop });
  } catch (error) {
    throw withDatabaseMessage(error, 'Run the same command again to import the remaining plants.');
  } finally {
    hideProgress();
    rejected.close();
    console.log(summary(tally, plants.inserted(), (performance.now() - start) / 1_000));
    if (refusedCount(tally) > 0) console.log(`Refused plants and the reasons are in ${rejectedPath}`);
  }
  if (stop.aborted) {
    say('Interrupted. Run the same command again to import the remaining plants.');
    return stop.reason;
  }
  return refusedCount(tally) > 0 ? REFUSED : DONE;
}
