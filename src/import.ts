import { csvEntries } from './adapters/import/csv.ts';
import type { Entry } from './adapters/import/entry.ts';
import { entriesIn, importPlants, refusedIn } from './adapters/import/import-plants.ts';
import { linesOf } from './adapters/import/lines.ts';
import { ndjsonEntries } from './adapters/import/ndjson.ts';
import { showProgress } from './adapters/import/progress.ts';
import { rejectedFile } from './adapters/import/rejected-file.ts';
import { openSource, type Source } from './adapters/import/source.ts';
import { summary } from './adapters/import/summary.ts';
import { advised } from './adapters/postgres/advice.ts';
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

/* npm run import: creates the plants of a list in the configured database. docs/import.md says how. */

/** Milliseconds; more than a service's defaults, since nobody waits for a single plant here. */
const PATIENCE = { statementTimeout: 10_000 };
const STORE_TIMEOUT = 60_000;

const BATCH_ROWS = 256;

/** The exit codes: everything is in the store; it stopped, so run it again; some were refused. */
const DONE = 0;
const STOPPED = 1;
const REFUSED = 2;

// The progress bar is no reason to stop.
process.stderr.on('error', () => {});

const stop = new AbortController();
const signals = [['SIGINT', 130] as const, ['SIGTERM', 143] as const];
for (const [signal, code] of signals) {
  process.on(signal, () => {
    if (stop.signal.aborted) process.exit(code);
    // So that the next signal ends the process whatever blocks it; process.exit() would wait for every thread. Process 1
    // of a container keeps its handlers, since the kernel spares that one.
    if (process.pid !== 1) for (const [name] of signals) process.removeAllListeners(name);
    // Not behind the bar and the ^C of a terminal.
    say(`${process.stderr.isTTY ? '\n' : ''}Finishing what is under way; once more stops at once.`);
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
    database = await openDatabase({ ...config, ...PATIENCE }, await createLog('silent'));
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
  const tally = { held: 0, conflicting: 0, invalid: 0 };
  const rejected = rejectedFile(rejectedPath, source.stats);
  const start = performance.now();
  const look = () => ({ plants: entriesIn(tally), bytes: source.bytesRead(), totalBytes: source.size });
  const hideProgress = showProgress(look, process.stderr);
  try {
    await importPlants(list, { ...useCases(plants), reject: rejected.add, tally, signal: stop.signal });
  } catch (error) {
    throw explained(error);
  } finally {
    hideProgress();
    rejected.close();
    console.log(summary(tally, plants.inserted(), (performance.now() - start) / 1_000));
    if (refusedIn(tally) > 0) console.log(`What was refused, and why, is in ${rejectedPath}`);
  }
  if (stop.signal.aborted) {
    say('It was interrupted. Running the same command again does the rest.');
    return stop.signal.reason;
  }
  return refusedIn(tally) > 0 ? REFUSED : DONE;
}

/** With what the database said, which no client may see, but who runs this should. */
function explained(error: unknown): unknown {
  if (!(error instanceof PlantStoreError)) return error;
  const cause = advised(error.cause);
  const said = cause instanceof Error ? cause.message : error.message;
  return new Error(`The database gave up (${said}). Running the same command again does the rest.`, { cause: error });
}
