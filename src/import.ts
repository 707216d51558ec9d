import { parseArgs } from 'node:util';
import { importReport } from './commands/import-report.ts';
import { listSource } from './commands/list-source.ts';
import { showProgress } from './commands/progress.ts';
import { rejectedFile } from './commands/rejected-file.ts';
import { type Part, RUN_AGAIN, remoteService } from './commands/remote-service.ts';
import { inOwnFolder, runCommand } from './commands/run-command.ts';
import { unnumberedRecords } from './commands/unnumbered-records.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/signals.ts';
import { listParts } from './wire/lists/parts.js';
import { decimalId } from './wire/plant-id.ts';

/* npm run import: sends a list of plants to the service (docs/import.md). */

const USAGE = `Usage: npm run import -- FILE [OPTIONS]

Sends the plants in FILE to the service of PLANT_STORE_URL, with PLANT_STORE_TOKEN. Without both, to the one that this
folder's configuration starts, with its token. You can interrupt an import and run it again.

  FILE             the plants; - for standard input
  --format FORMAT  csv or ndjson; needed unless FILE ends with .csv, .ndjson or .jsonl
  --replace        changes plants that exist and differ; without it, they stay as they are, and the record is refused
  --ids-from N     numbers a list without ids, from N on; not together with --replace
  --same-name S    skip or add: what becomes of plants of such a list whose names are stored already; skip without it
  --number-refused N  numbers records of CSV whose ids are no whole numbers, from N on
  --columns LIST   what the columns of CSV are, as in id,name,,tag: whatever they are called, or if no line names them
  --header N       the line that names them, if that is not the first with a name and an id
  --separator S    what separates the cells, if that line does not show it
  --check          stores nothing, and only says what would be refused by its form
  --version        show the version
  -h, --help       show this help

Refused records go to FILE.rejected.csv or .ndjson, to be corrected and imported again. Exit codes: 0 all plants are in
the store; 1 the import could not start or could not go on; 2 some were refused; 130 Ctrl-C; 143 SIGTERM.

Example: npm run import -- examples/plants.ndjson`;

const NDJSON = 'application/x-ndjson';
const TYPES = new Map(Object.entries({ csv: 'text/csv', ndjson: NDJSON, jsonl: NDJSON }));

type Next = () => Promise<Part | undefined>;

const stop = stopRequest('Finishing the part that was sent');

await runCommand('import', USAGE, importArguments, run);

/** @throws Error, saying what is wrong with the command line */
function importArguments(args: string[]) {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }] as const;
  const layout = { 'number-refused': text, 'same-name': text, columns: text, header: text, separator: text };
  const options = { format: text, replace: flag, 'ids-from': text, check: flag, ...layout };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Error('name one list: a file, or - for standard input');
  const type = TYPES.get((values.format ?? /\.(\w+)$/.exec(path)?.[1] ?? '').toLowerCase());
  if (type === undefined && values.format !== undefined) throw new Error('--format must be csv or ndjson');
  if (type === undefined) throw new Error(`nothing says what ${path} is: add --format csv or --format ndjson`);
  const { columns, header, separator, 'ids-from': idsFrom, 'same-name': same, 'number-refused': numberFrom } = values;
  for (const [name, number] of Object.entries({ '--ids-from': idsFrom, '--number-refused': numberFrom })) {
    if (number !== undefined && decimalId.parse(number) === undefined)
      throw new Error(`${name} must be ${decimalId.mustBe}`);
  }
  if (values.replace && idsFrom !== undefined)
    throw new Error('--replace is for lists with ids: the numbers of --ids-from could be those of any other plants');
  if (numberFrom !== undefined && (idsFrom !== undefined || type === NDJSON))
    throw new Error('--number-refused is for lists of CSV with ids');
  const existing = values.replace ? 'replace' : 'keep';
  const query: Record<string, string> = { existing, check: `${values.check}` };
  const sameName = same ?? (idsFrom && 'skip');
  for (const [name, value] of Object.entries({ idsFrom, sameName, columns, header, separator }))
    if (value) query[name] = value;
  return { path, type, query, numberFrom };
}

/** @returns the exit code */
async function run({ path, type, query, numberFrom }: ReturnType<typeof importArguments>): Promise<number> {
  const isCsv = type !== NDJSON;
  const rejectedPath = `${path === '-' ? 'stdin' : path}.rejected.${isCsv ? 'csv' : 'ndjson'}`;
  const send = remoteService(type, stop);
  // Reading fails once it is aborted.
  const source = await listSource(path, inOwnFolder('import', path), isCsv, stop).catch((error) => {
    if (!stop.aborted) throw error;
  });
  if (source === undefined) return stop.reason;
  const { list, size, encoding, close } = source;
  const form = { encoding, isNamed: !('columns' in query) };
  const rejected = query.check === 'true' ? undefined : rejectedFile(inOwnFolder('import', rejectedPath), form);
  const free = 'idsFrom' in query ? ' with --ids-from, from a number on that is free' : '';
  const report = importReport();
  const { counts, total } = report;
  const unnumbered = unnumberedRecords();
  let unwritten: unknown;

  async function sendAll(next: Next, take = (part: Part) => part, lineOf = (line: number) => line): Promise<void> {
    for (let sent = await next(); sent !== undefined; sent = await next()) {
      const part = take(sent);
      report.add(part, lineOf);
      try {
        rejected?.add(part);
      } catch (error) {
        unwritten = error;
      }
      if (stop.aborted || unwritten !== undefined) return;
    }
  }

  async function numberOthers(idsFrom: string): Promise<void> {
    say(`Numbered from ${idsFrom}, since their ids are no whole numbers: ${unnumbered.count()}`);
    // The line of names is none of them.
    const { header: _, ...own } = query;
    const form = { sameName: 'skip', ...own, ...unnumbered.layout(), existing: 'keep', idsFrom };
    const others = { isCsv, encoding: 'utf-8' as const, query: form };
    await sendAll(listParts(unnumbered.source(), others, send), undefined, unnumbered.lineOf);
  }

  const part = () => size && Math.min(total.bytes / size, 1);
  const hideProgress = showProgress(() => ({ plants: total.plants, part: part() }), process.stderr);
  try {
    const next = listParts(list, { isCsv, encoding, query }, send);
    await sendAll(next, numberFrom === undefined ? undefined : unnumbered.take);
    const isNext = unnumbered.count() > 0 && !stop.aborted && unwritten === undefined;
    if (numberFrom !== undefined && isNext) await numberOthers(numberFrom);
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    hideProgress();
    close();
    report.print();
    if (rejected?.close())
      console.log(`Refused records are in ${rejectedPath}. Correct them, and import that file${free}.`);
  }
  if (unwritten !== undefined) throw unwritten;
  if (total.parts === 0 && !stop.aborted) throw new Error('the list is empty');
  if (total.plants === 0 && !stop.aborted) say('The list has no records.');
  if (stop.aborted) say(`Interrupted. ${RUN_AGAIN}`);
  return stop.aborted ? stop.reason : counts.refused > 0 ? 2 : 0;
}
