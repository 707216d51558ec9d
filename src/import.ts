import { csvEntries } from './adapters/import/csv.ts';
import { entryCount, importPlants, refusedCount } from './adapters/import/import-plants.ts';
import { linesOf } from './adapters/import/lines.ts';
import { ndjsonEntries } from './adapters/import/ndjson.ts';
import { rejectedFile } from './adapters/import/rejected-file.ts';
import { openSource, type Source } from './adapters/import/source.ts';
import type { PostgresPlants } from './adapters/postgres/postgres-plants.ts';
import { useCases } from './application/use-cases.ts';
import { type ImportArguments, importArguments, USAGE } from './commands/import-arguments.ts';
import { openOfflineStore, withDatabaseMessage } from './commands/offline-store.ts';
import { showProgress } from './commands/progress.ts';
import { runCommand } from './commands/run-command.ts';
import { summary } from './commands/summary.ts';
import { readDatabaseConfig } from './config/config.ts';
import { environment } from './config/environment.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';
import { jsonParser } from './wire/object-parser.ts';
import { NewPlant } from './wire/schemas.ts';

/* npm run import: imports a list of plants into the configured database (docs/import.md). */

/** Exit codes, beside those of a failure and of the signals: every plant is stored; some plants were refused. */
const DONE = 0;
const REFUSED = 2;

const stop = stopRequest('Finishing the plants in flight');

await runCommand('import', USAGE, importArguments, run);

/** @returns the exit code */
async function run(args: ImportArguments): Promise<number> {
  const source = openSource(args.path, stop);
  try {
    const store = await openOfflineStore(readDatabaseConfig(environment()), true);
    return await importList(args, source, store.plants).finally(store.close);
  } finally {
    source.close();
  }
}

async function importList(
  { path, format, rejectedPath }: ImportArguments,
  source: Source,
  plants: PostgresPlants,
): Promise<number> {
  const lines = linesOf(source.chunks);
  const list = format === 'csv' ? csvEntries(lines) : ndjsonEntries(lines, jsonParser(NewPlant, 'the line'));
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
    if (refusedCount(tally) > 0) console.log(howToCorrect(path, rejectedPath));
  }
  if (stop.aborted) {
    say('Interrupted. Run the same command again to import the remaining plants.');
    return stop.reason;
  }
  return refusedCount(tally) > 0 ? REFUSED : DONE;
}

function howToCorrect(path: string, rejectedPath: string): string {
  const list = path === '-' ? 'the list' : path;
  return (
    `Refused plants and the reasons are in ${rejectedPath}. Correct their lines in ${list}, and run the same command ` +
    'again: plants that are stored stay as they are.'
  );
}
