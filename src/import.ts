import { csvEntries } from './adapters/import/csv.ts';
import type { Entry } from './adapters/import/entry.ts';
import { entryCount, importPlants, refusedCount } from './adapters/import/import-plants.ts';
import { linesOf } from './adapters/import/lines.ts';
import { ndjsonEntries } from './adapters/import/ndjson.ts';
import { showProgress } from './adapters/import/progress.ts';
import { rejectedFile } from './adapters/import/rejected-file.ts';
import { openSource, type Source } from './adapters/import/source.ts';
import { summary } from './adapters/import/summary.ts';
import { withAdvice } from './adapters/postgres/advice.ts';
import type { Database } from './adapters/postgres/database.ts';
import { requireMigrations } from './adapters/postgres/migrator.ts';
import { postgresPlants } from './adapters/postgres/plant-repository.ts';
import { storeCalls } from './adapters/postgres/store-call.ts';
import { useCases } from './application/use-cases.ts';
import { createLog } from './composition/log.ts';
import { openDatabase } from './composition/open-database.ts';
import { readDatabaseConfig } from './config/config.ts';
import { environment } from './config/environment.ts';
import { importArguments, USAGE } from './config/import-arguments.ts';
import { PlantStoreError } from './domain/errors.ts';
import { say } from './process/say.ts';
import { jsonParser } from './wire/object-parser.ts';
import { NewPlant } from './wire/schemas.ts';

/* npm run import: imports a list of plants into the configured database (docs/import.md). */

/** Milliseconds; longer than the service's defaults, since no client waits for an individual plant here. */
const DATABASE_TIMEOUTS = { statementTimeout: 10_000 };
const STORE_TIMEOUT = 60_000;

const BATCH_ROWS = 256;

/** Exit codes: every plant is stored; the import stopped and should be run again; some plants were refused. */
const DONE = 0;
const STOPPED = 1;
const REFUSED = 2;

// A failed write of the progress bar must not end the import.
process.stderr.on('error', () => {});

const stop = new AbortController();
const signals = [['SIGINT', 130] as const, ['SIGTERM', 143] as const];
for (const [signal, code] of signals) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(code);
    // The default action ends the process at the next signal even if it is blocked; process.exit() would wait for every
    // thread. As process 1 of a container it keeps its handlers: the kernel ignores signals that it does not handle.
    if (process.pid !== 1) for (const [name] of signals) process.removeAllListeners(name);
    // On a new line, after the progress bar and the terminal's ^C.
    say(`${process.stderr.isTTY ? '\n' : ''}Finishing the plants in flight; a second signal stops at once.`);
    stop.abort(code);
  });
}

try {
  process.exitCode = await run();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = STOPPED;
}

/** @returns the exit code */
async function run(): Promise<number> {
  const args = importArguments(process.argv.slice(2));
  if (args === 'help') {
    console.log(USAGE);
    return DONE;
  }
  const { path, format, rejectedPath } = args;
  const source = await openSource(path, stop.signal);
  let database: Database | undefined;
  try {
    const config = readDatabaseConfig(environment());
    database = await openDatabase({ ...config, ...DATABASE_TIMEOUTS }, await createLog('silent'));
    await requireMigrations(database);
    const lines = linesOf(source.chunks);
    const list = format === 'csv' ? csvEntries(lines) : ndjsonEntries(lines, jsonParser(NewPlant, 'the line'));
    return await importList(list, source, rejectedPath, database);
  } finally {
    source.close();
    await database?.close();
  }
}

async function importList(
  list: AsyncIterable<readonly Entry[]>,
  source: Source,
  rejectedPath: string,
  database: Database,
): Promise<number> {
  const plants = postgresPlants(database, {
    callStore: storeCalls({ schemaReady: () => undefined, timeout: STORE_TIMEOUT }),
    batchRows: BATCH_ROWS,
  });
  const tally = { stored: 0, conflicting: 0, invalid: 0 };
  const rejected = rejectedFile(rejectedPath, source.stats);
  const start = performance.now();
  const readProgress = () => ({ plants: entryCount(tally), bytes: source.bytesRead(), totalBytes: source.size });
  const hideProgress = showProgress(readProgress, process.stderr);
  try {
    await importPlants(list, { ...useCases(plants), reject: rejected.add, tally, signal: stop.signal });
  } catch (error) {
    throw withDatabaseMessage(error);
  } finally {
    hideProgress();
    rejected.close();
    console.log(summary(tally, plants.inserted(), (performance.now() - start) / 1_000));
    if (refusedCount(tally) > 0) console.log(`Refused plants and the reasons are in ${rejectedPath}`);
  }
  if (stop.signal.aborted) {
    say('Interrupted. Run the same command again to import the remaining plants.');
    return stop.signal.reason;
  }
  return refusedCount(tally) > 0 ? REFUSED : DONE;
}

/** Adds the database's own message, which clients must not see but whoever runs the import needs. */
function withDatabaseMessage(error: unknown): unknown {
  if (!(error instanceof PlantStoreError)) return error;
  const cause = withAdvice(error.cause);
  const message = cause instanceof Error ? cause.message : error.message;
  return new Error(`The database failed (${message}). Run the same command again to import the remaining plants.`, {
    cause: error,
  });
}
