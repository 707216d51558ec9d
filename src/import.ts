import { createInterface } from 'node:readline/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { importReport } from './cli/import-report.ts';
import { type ListOptions, readList, saveRefused } from './cli/list-source.ts';
import { namesOfPlants, RUN_AGAIN, remoteService } from './cli/remote-service.ts';
import { inOwnFolder, runCommand } from './cli/run-command.ts';
import { decimalId } from './formats/plant-id.ts';
import { bounded, visible } from './formats/shown.ts';
import { batchesOf, outcomeOf, type Result } from './lists/batches.js';
import { parseExactly, recordsOf } from './lists/records.js';
import { say } from './runtime/say.ts';
import { stopRequest } from './runtime/signals.ts';

/* npm run import: sends a list of plants to the service (docs/import.md). */

const USAGE = `Usage: npm run import -- FILE [OPTIONS]

Sends the plants in FILE to the service of PLANT_STORE_URL, with PLANT_STORE_TOKEN. Without both, to the one that this
folder's configuration starts, with its token. On a terminal, it first shows what it took, and asks. You can interrupt an
import and run it again.

  FILE             CSV of any program, .xlsx, or lines of JSON; - for standard input
  --encoding NAME  of a list that is not UTF-8, as in windows-1252
  --sheet NAME     of a workbook that has several
  --columns LIST   what the columns are, as in id=Nr,name=Genus+Species,tag=4: by their names, or numbers if no row has names
  --replace        changes plants that exist and differ; without it, they stay as they are, and the record is refused
  --ids-from N     numbers a list without ids, from N on; not together with --replace
  --same-name S    skip or add: what becomes of plants of such a list whose names are stored already; skip without it
  --check          stores nothing, and only says what would become of the list
  --yes            does not ask whether to store the list

Refused records go to FILE.rejected.csv or .ndjson, to be corrected and imported again. Exit codes: 0 all plants are in
the store; 1 the import could not start or go on, or was declined; 2 some were refused; 130 Ctrl-C; 143 SIGTERM.

Example: npm run import -- examples/plants.ndjson`;

const stop = stopRequest('Finishing the batch that was sent');
await runCommand('import', USAGE, importArguments, async (options) => {
  try {
    process.exitCode = await run(options);
    if (!stop.aborted) return;
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  say(`Interrupted. ${RUN_AGAIN}`);
  process.exitCode = stop.reason;
});

interface Options extends ListOptions {
  readonly path: string;
  readonly idsFrom: bigint | undefined;
  readonly sameName: string | undefined;
  readonly check: boolean;
  readonly yes: boolean;
}

/** @throws Error, saying what is wrong with the command line */
function importArguments(args: string[]): Options {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }] as const;
  const texts = { encoding: text, sheet: text, columns: text, 'ids-from': text, 'same-name': text };
  const options = { ...texts, replace: flag, check: flag, yes: flag };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { 'ids-from': from, 'same-name': sameName, replace: replaces, ...flags } = values;
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Error('name one list: a file, or - for standard input');
  const idsFrom = from === undefined ? undefined : decimalId.parse(from);
  if (from !== idsFrom?.toString()) throw new Error(`--ids-from must be ${decimalId.mustBe}`);
  if (![undefined, 'skip', 'add'].includes(sameName)) throw new Error('--same-name must be skip or add');
  if (sameName !== undefined && idsFrom === undefined) throw new Error('--same-name is for lists with --ids-from');
  if (replaces && idsFrom !== undefined)
    throw new Error('--replace is for lists with ids: the numbers of --ids-from could be those of any other plants');
  return { ...flags, path, idsFrom, sameName, replaces, isNumbered: idsFrom !== undefined };
}

/** @returns the exit code */
async function run({ path, idsFrom, sameName, check, yes, ...options }: Options): Promise<number> {
  const send = remoteService(stop);
  const file = path === '-' ? path : inOwnFolder('import', path);
  const { text, layout, description, refuseChanged } = await readList(file, options, stop);
  const records = () => recordsOf(text, layout, idsFrom);
  say(description);
  const firstPlants = records().filter(({ line }) => line);
  for (const { row, line = '' } of firstPlants.take(5)) say(`row ${row}: ${visible(bounded(line))}`);
  const storedNames = options.isNumbered && sameName !== 'add' ? await namesOfPlants(send) : undefined;

  /** Sends the list, or has it checked. @returns how many records were refused */
  async function sendAll(isCheck: boolean): Promise<number> {
    const query = new URLSearchParams({ existing: options.replaces ? 'replace' : 'keep', check: `${isCheck}` });
    const batches = batchesOf(records(), storedNames);
    const { add, end, refusedTexts } = importReport(send, text.length);
    try {
      for (let next = batches.next(); !next.done && !stop.aborted; ) {
        const batch = next.value;
        refuseChanged();
        const response = batch.plants.length > 0 ? send(`/import?${query}`, batch.lines) : undefined;
        // The next batch is made while this one is away. If it cannot be, that is thrown once this one is counted.
        const nextBatch = nextTurn().then(() => batches.next());
        nextBatch.catch(() => {});
        await add(outcomeOf(batch, response && (parseExactly(await response) as Result)));
        next = await nextBatch;
      }
    } finally {
      end(isCheck);
      const name = path === '-' ? inOwnFolder('import', 'stdin') : file;
      if (!isCheck) saveRefused(name, layout, refusedTexts.join(''));
    }
    return refusedTexts.length;
  }

  // A terminal whose input is the list cannot answer.
  const isAsking = !yes && process.stdin.isTTY && process.stderr.isTTY;
  const refusedCount = check || isAsking ? await sendAll(true) : 0;
  if (check) return refusedCount > 0 ? 2 : 0;
  if (isAsking && !(await isAccepted())) {
    say('Nothing is stored.');
    return 1;
  }
  return (await sendAll(false)) > 0 ? 2 : 0;
}

async function isAccepted(): Promise<boolean> {
  stop.throwIfAborted();
  // In the raw mode of terminals Ctrl-C would be no signal.
  const dialog = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const answer = await dialog.question('Store these? [y/N] ', { signal: stop }).catch(() => '');
  dialog.close();
  return /^y(es)?$/i.test(answer.trim());
}
