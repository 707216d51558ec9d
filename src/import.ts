import { csvEntries } from './adapters/import/csv.ts';
import { entryCount, importPlants, refusedCount } from './adapters/import/import-plants.ts';
import { linesOf } from './adapters/import/lines.ts';
import { ndjsonEntries } from './adapters/import/ndjson.ts';
import { rejectedFile } from './adapters/import/rejected-file.ts';
import { openSource, type Source } from './adapters/import/source.ts';
import { useCases } from './application/use-cases.ts';
import { type ImportArguments, importArguments } from './commands/list-arguments.ts';
import { type OfflineStore, withOfflineStore } from './commands/offline-store.ts';
import { showProgress, summary } from './commands/progress.ts';
import { runCommand } from './commands/run-command.ts';
import { readDatabaseConfig } from './config/config.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';
import { jsonParser } from './wire/object-parser.ts';
import { NewPlant } from './wire/schemas.ts';

/* npm run import: imports a list of plants into the configured database (docs/import.md). */

const USAGE = `Usage: npm run import -- FILE [--format ndjson|csv] [--rejected FILE]

Creates the plants in FILE in the database of DATABASE_URL or, if that is not set, in the embedded one in DATA_DIR.
Existing plants stay as they are, so you can interrupt an import and run it again.

  FILE              the plants, in UTF-8; - for standard input
  --format FORMAT   ndjson or csv; needed unless FILE ends with .ndjson, .jsonl or .csv. The first line of CSV names
                    the columns id, name and tag, and shows whether commas, semicolons or tabs separate them
  --rejected FILE   the file for refused plants and the reasons; by default FILE.rejected.ndjson, or
                    stdin.rejected.ndjson for standard input
  -h, --help        show this help

Exit codes: 0 all plants are in the database; 1 the import could not start or could not go on; 2 some plants were
refused; 130 interrupted by Ctrl-C; 143 by SIGTERM.

Example: npm run import -- examples/plants.ndjson --rejected refused.ndjson`;

const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

const stop = stopRequest('Finishing the plants in flight');

await runCommand('import', USAGE, importArguments, run);

/** @returns the exit code */
async function run(args: ImportArguments): Promise<number> {
  const source = openSource(args.path, stop);
  try {
    const importInto = ({ plants }: OfflineStore) => importList(args, source, plants);
    const options = { mayCreate: true, advice: RUN_AGAIN };
    return await withOfflineStore(readDatabaseConfig(), importInto, options);
  } finally {
    source.close();
  }
}

async function importList(
  { path, format, rejectedPath }: ImportArguments,
  source: Source,
  plants: OfflineStore['plants'],
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
  } finally {
    hideProgress();
    rejected.close();
    console.log(summary(tally, plants.inserted(), (performance.now() - start) / 1_000));
    if (refusedCount(tally) > 0) console.log(howToCorrect(path, rejectedPath));
  }
  if (stop.aborted) {
    say(`Interrupted. ${RUN_AGAIN}`);
    return stop.reason;
  }
  return refusedCount(tally) > 0 ? 2 : 0;
}

function howToCorrect(path: string, rejectedPath: string): string {
  const list = path === '-' ? 'the list' : path;
  return (
    `Refused plants and the reasons are in ${rejectedPath}. Correct their lines in ${list}, and run the same command ` +
    'again: plants that are stored stay as they are.'
  );
}
