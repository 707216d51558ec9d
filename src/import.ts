import { createReadStream, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { showProgress, summary } from './commands/progress.ts';
import { rejectedFile } from './commands/rejected-file.ts';
import { runCommand } from './commands/run-command.ts';
import { type Query, type Response, type Result, sendList } from './commands/send-list.ts';
import { serviceAddress } from './commands/service-address.ts';
import { say } from './process/say.ts';
import { stopRequest } from './process/stop-request.ts';
import { parsePlantId, plantIdRule } from './wire/plant-id.ts';

/* npm run import: sends a list of plants to the service (docs/import.md). */

const USAGE = `Usage: npm run import -- FILE [--format csv|ndjson] [--replace] [--ids-from N] [--check]

Sends the plants in FILE to the service of PLANT_STORE_URL, with PLANT_STORE_TOKEN. Without both, to the one that this
folder's configuration starts, with its token. You can interrupt an import and run it again.

  FILE             the plants, in UTF-8; - for standard input
  --format FORMAT  csv or ndjson; needed unless FILE ends with .csv, .ndjson or .jsonl
  --replace        changes plants that exist and differ; without it, they stay as they are, and the record is refused
  --ids-from N     numbers a list without ids, from N on
  --check          stores nothing, and only says what would be refused by its form
  -h, --help       show this help

Refused records go to FILE.rejected.csv or .ndjson, to be corrected and imported again. Exit codes: 0 all plants are in
the store; 1 the import could not start or could not go on; 2 some were refused; 130 Ctrl-C; 143 SIGTERM.

Example: npm run import -- examples/plants.ndjson`;

const FORMATS = new Map([
  ['csv', 'text/csv'],
  ['ndjson', 'application/x-ndjson'],
  ['jsonl', 'application/x-ndjson'],
]);

/** Milliseconds for which a part is sent again. */
const PATIENCE = 60_000;

/** Refusals that are shown. */
const SHOWN = 10;

const RUN_AGAIN = 'Run the same command again to import the remaining plants.';

const stop = stopRequest('Finishing the part that was sent');

await runCommand('import', USAGE, importArguments, run);

/** @throws Error, saying what is wrong with the command line */
function importArguments(args: string[]) {
  const [text, flag] = [{ type: 'string' }, { type: 'boolean', default: false }] as const;
  const options = { format: text, replace: flag, 'ids-from': text, check: flag };
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const { format, 'ids-from': idsFrom, replace, check } = values;
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Error('name one list: a file, or - for standard input');
  const name = (format ?? /\.(\w+)$/.exec(path)?.[1] ?? '').toLowerCase();
  const type = FORMATS.get(name);
  if (type === undefined) throw new Error(`nothing says what ${path} is: add --format csv or --format ndjson`);
  if (idsFrom !== undefined && parsePlantId(idsFrom) === undefined) {
    throw new Error(`--ids-from must be ${plantIdRule}; write a negative one as --ids-from=-1`);
  }
  const query = {
    ...(replace && { existing: 'replace' }),
    ...(idsFrom && { idsFrom }),
    ...(check && { check: 'true' }),
  };
  return { path, type, query };
}

/** @returns the exit code */
async function run({ path, type, query }: ReturnType<typeof importArguments>): Promise<number> {
  const isCsv = type === 'text/csv';
  const rejectedPath = `${path === '-' ? 'stdin' : path}.rejected.${isCsv ? 'csv' : 'ndjson'}`;
  const { stream, size } = source(path);
  const send = sender(serviceAddress(), type);
  const rejected = rejectedFile(rejectedPath, 'idsFrom' in query);
  const counts = { created: 0, changed: 0, unchanged: 0, refused: 0 };
  const ignored = new Set<string>();
  const start = performance.now();
  let [plants, bytes] = [0, 0];
  const hideProgress = showProgress(() => ({ plants, part: size && bytes / size }), process.stderr);
  try {
    for await (const part of sendList(stream[Symbol.asyncIterator](), isCsv, query, send)) {
      rejected.add(part);
      for (const name of part.ignored) if (!ignored.has(name)) say(`ignored: ${name}`);
      for (const name of part.ignored) ignored.add(name);
      for (const { line, lastLine, message } of part.refused.slice(0, Math.max(SHOWN - counts.refused, 0))) {
        const lines = lastLine > line ? `lines ${line + part.linesBefore} to` : 'line';
        say(`${lines} ${lastLine + part.linesBefore}: ${message}`);
      }
      for (const name of ['created', 'changed', 'unchanged'] as const) counts[name] += part[name];
      counts.refused += part.refused.length;
      plants += part.records;
      bytes += part.bytes.length;
      if (stop.aborted) break;
    }
  } catch (error) {
    // Reading fails once it is aborted.
    if (!stop.aborted) throw error;
  } finally {
    hideProgress();
    rejected.close();
    stream.destroy();
    console.log(summary(plants, counts, (performance.now() - start) / 1_000));
    if (counts.refused > 0) console.log(`Refused records are in ${rejectedPath}. Correct them, and import that file.`);
  }
  if (!stop.aborted) return counts.refused > 0 ? 2 : 0;
  say(`Interrupted. ${RUN_AGAIN}`);
  return stop.reason;
}

/** A file, or standard input for `-`. @throws Error, saying what to do, if there is no such file */
function source(path: string) {
  if (path === '-') return { stream: addAbortSignal(stop, process.stdin), size: undefined };
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new Error(`there is no file ${resolve(path)}: correct the path`);
  // Opening a pipe would wait for its writer.
  if (!stats.isFile()) throw new Error(`${path} is not a file: name one, or - for standard input`);
  return { stream: addAbortSignal(stop, createReadStream(path, { highWaterMark: 1024 ** 2 })), size: stats.size };
}

/** Sends parts to the service, and again for a while if that may help. */
function sender({ url, token }: ReturnType<typeof serviceAddress>, type: string) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };

  async function attempt(query: Query, body: Buffer<ArrayBuffer>): Promise<Response | string> {
    const request = {
      method: 'POST',
      redirect: 'error',
      headers,
      body,
      signal: AbortSignal.timeout(PATIENCE),
    } as const;
    const response = await fetch(`${url}/import?${new URLSearchParams(query)}`, request);
    const text = await response.text();
    if (response.status === 200) return { result: JSON.parse(text, exactId) as Result };
    const isJson = response.headers.get('Content-Type') === 'application/json';
    const { error, message } = isJson ? JSON.parse(text) : { message: `${url} responds with ${response.status}` };
    if (response.status >= 500 || response.status === 408 || response.status === 429) return message;
    return { isTooLarge: response.status === 413 || error === 40013, message };
  }

  return async (query: Query, body: Buffer<ArrayBuffer>): Promise<Response> => {
    let isRepeated = false;
    for (const start = performance.now(); ; await delay(1_000)) {
      const outcome = await attempt(query, body).catch(
        (error) => `${url} does not respond (${(error.cause ?? error).message})`,
      );
      if (typeof outcome !== 'string') return outcome;
      if (stop.aborted || performance.now() - start > PATIENCE) throw new Error(`${outcome}. ${RUN_AGAIN}`);
      if (!isRepeated) say(`${outcome}: trying again for a minute`);
      isRepeated = true;
    }
  };
}

/** JSON.parse makes a number of an id, which loses digits. */
function exactId(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'id' && context?.source ? BigInt(context.source) : value;
}
