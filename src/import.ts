import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { importReport } from './cli/import-report.ts';
import { asking, columnsOf } from './cli/list-questions.ts';
import { readList, textOf } from './cli/list-source.ts';
import { showProgress } from './cli/progress.ts';
import { rejectedFile } from './cli/rejected-file.ts';
import { RUN_AGAIN, remoteService, type Send } from './cli/remote-service.ts';
import { inOwnFolder, runCommand } from './cli/run-command.ts';
import { decimalId } from './formats/plant-id.ts';
import { bounded, visible } from './formats/shown.ts';
import { batchesOf, outcomeOf, type Result } from './lists/batches.js';
import { findLayout } from './lists/columns.js';
import { folded, parseExactly, recordsOf } from './lists/records.js';
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
  --columns LIST   what the columns are, by names or numbers, as in id=Nr,name=Genus+Species,tag=4
  --header N       the row that names them; 0 if none does
  --replace        changes plants that exist and differ; without it, they stay as they are, and the record is refused
  --ids-from N     numbers a list without ids, from N on; not together with --replace
  --same-name S    skip or add: what becomes of plants of such a list whose names are stored already; skip without it
  --check          stores nothing, and only says what would become of the list
  --yes            does not ask whether to store the list

Refused records go to FILE.rejected.csv or .ndjson, to be corrected and imported again. Exit codes: 0 all plants are in
the store; 1 the import could not start or could not go on; 2 some were refused; 130 Ctrl-C; 143 SIGTERM.

Example: npm run import -- examples/plants.ndjson`;

/** How many stored plants have their names compared with those of a list, at most. */
const MAX_NAMES = 200_000;

const stop = stopRequest('Finishing the part that was sent');
await runCommand('import', USAGE, importArguments, run);

/** @throws Error, saying what is wrong with the command line */
function importArguments(args: string[]) {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }] as const;
  const options = { encoding: text, sheet: text, columns: text, header: text, 'ids-from': text, 'same-name': text };
  const flags = { replace: flag, check: flag, yes: flag };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { ...options, ...flags } });
  const { header, 'ids-from': from, 'same-name': sameName, ...others } = values;
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Error('name one list: a file, or - for standard input');
  const idsFrom = from === undefined ? undefined : decimalId.parse(from);
  if (from !== idsFrom?.toString()) throw new Error(`--ids-from must be ${decimalId.mustBe}`);
  if (header !== undefined && !/^\d{1,3}$/.test(header)) throw new Error('--header must be the number of a row, or 0');
  if (![undefined, 'skip', 'add'].includes(sameName)) throw new Error('--same-name must be skip or add');
  if (sameName !== undefined && idsFrom === undefined) throw new Error('--same-name is for lists with --ids-from');
  if (others.replace && idsFrom !== undefined)
    throw new Error('--replace is for lists with ids: the numbers of --ids-from could be those of any other plants');
  return { ...others, path, idsFrom, header: header === undefined ? undefined : Number(header), sameName };
}

type Options = ReturnType<typeof importArguments>;

/** @returns the exit code */
async function run(options: Options): Promise<number> {
  const { path, idsFrom, replace, check, yes } = options;
  const send = remoteService(stop);
  const { bytes, refuseChanged } = await readList(path, inOwnFolder('import', path), stop);
  if (stop.aborted) return stop.reason;
  const { text, encoding } = await asking(() => textOf(bytes, options));
  const isNumbered = idsFrom !== undefined;
  const isJson = /^\s*[{[]/.test(text);
  const layout = isJson
    ? undefined
    : await asking(() => findLayout(text, { ...options, isNumbered, replaces: replace }));
  const records = () => recordsOf(text, layout, idsFrom);
  say(`The list is in ${encoding}. ${layout ? columnsOf(layout) : 'It has lines of JSON.'}`);
  const firstPlants = records().flatMap(({ row, line }) => (line === undefined ? [] : [{ row, line }]));
  for (const { row, line } of firstPlants.take(5)) say(`row ${row}: ${visible(bounded(line))}`);
  const stored = isNumbered && options.sameName !== 'add' ? await storedNames(send) : undefined;

  /** Sends the list, or has it checked. @returns how many records were refused */
  async function sendAll(isCheck: boolean, rejected?: ReturnType<typeof rejectedFile>): Promise<number> {
    const query = new URLSearchParams({ existing: replace ? 'replace' : 'keep', check: `${isCheck}` });
    const names = stored && new Set(stored);
    function isLeftOut({ name = '' }): boolean {
      const isStored = names?.has(folded(name)) ?? false;
      // A name that comes again in the list is left out, too.
      names?.add(folded(name));
      return isStored;
    }
    const report = importReport(send);
    const { counts, total } = report;
    const hideProgress = showProgress(
      () => ({ plants: total.records, part: total.size / text.length }),
      process.stderr,
    );
    try {
      for (const batch of batchesOf(records(), isLeftOut)) {
        refuseChanged();
        const text = batch.sent.length > 0 ? await send(`/import?${query}`, /^\{"created":/, batch.lines) : undefined;
        const result = text === undefined ? undefined : (parseExactly(text) as Result);
        const outcome = outcomeOf(batch, result);
        await report.add(outcome, batch);
        rejected?.add(outcome.refused.map(({ raw }) => raw));
        if (stop.aborted) break;
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      hideProgress();
      report.print(isCheck);
    }
    return counts.refused;
  }

  // A terminal whose input is the list cannot answer.
  const isAsking = !yes && process.stdin.isTTY && process.stderr.isTTY;
  const refused = check || isAsking ? await sendAll(true) : 0;
  if (check && !stop.aborted) return refused > 0 ? 2 : 0;
  if (isAsking && !(await isWanted())) {
    say('Nothing is stored.');
    return stop.aborted ? stop.reason : 1;
  }
  const name = `${path === '-' ? 'stdin' : path}.rejected`;
  const nameOf = (number: number) => `${name}${number === 1 ? '' : `.${number}`}.${isJson ? 'ndjson' : 'csv'}`;
  const nameIn = (number: number) => inOwnFolder('import', nameOf(number));
  const rejected = rejectedFile(nameIn, layout ? `\uFEFF${layout.head}` : '');
  const left = await sendAll(false, rejected).finally(() => {
    const file = rejected.close();
    if (file) console.log(`Refused records are in ${file}. Correct them, and import that file.`);
  });
  if (stop.aborted) say(`Interrupted. ${RUN_AGAIN}`);
  return stop.aborted ? stop.reason : left > 0 ? 2 : 0;
}

/** The names of all plants. @throws Error if they are too many to compare those of a list with them */
async function storedNames(send: Send): Promise<Set<string>> {
  const lines = (await send(`/plants?limit=${MAX_NAMES + 1}`, /^(\{"id":|$)/)).split('\n');
  if (lines.length > MAX_NAMES + 1)
    throw new Error(`there are more than ${MAX_NAMES} plants, too many to compare names with: add --same-name add`);
  return new Set(lines.filter(Boolean).map((line) => folded(JSON.parse(line).name)));
}

async function isWanted(): Promise<boolean> {
  if (stop.aborted) return false;
  // In the raw mode of terminals Ctrl-C would be no signal.
  const dialog = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const answer = await dialog.question('Store these? [y/N] ', { signal: stop }).catch(() => '');
  dialog.close();
  return /^y(es)?$/i.test(answer.trim());
}
