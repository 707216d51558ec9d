import { createReadStream, statSync } from 'node:fs';
import { addAbortSignal } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { showProgress, summary } from './commands/progress.ts';
import { rejectedFile } from './commands/rejected-file.ts';
import { runCommand } from './commands/run-command.ts';
import { type Send, sendList } from './commands/send-list.ts';
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
  --version        show the version
  -h, --help       show this help

Refused records go to FILE.rejected.csv or .ndjson, to be corrected and imported again. Exit codes: 0 all plants are in
the store; 1 the import could not start or could not go on; 2 some were refused; 130 Ctrl-C; 143 SIGTERM.

Example: npm run import -- examples/plants.ndjson`;

const NDJSON = 'application/x-ndjson';
const TYPES = new Map(Object.entries({ csv: 'text/csv', ndjson: NDJSON, jsonl: NDJSON }));

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
  const [path] = positionals;
  if (path === undefined || positionals.length > 1) throw new Error('name one list: a file, or - for standard input');
  const type = TYPES.get((values.format ?? /\.(\w+)$/.exec(path)?.[1] ?? '').toLowerCase());
  if (type === undefined) throw new Error(`nothing says what ${path} is: add --format csv or --format ndjson`);
  const idsFrom = values['ids-from'];
  if (idsFrom && parsePlantId(idsFrom) === undefined) throw new Error(`--ids-from must be ${plantIdRule}`);
  const existing = values.replace ? 'replace' : 'keep';
  return { path, type, query: { existing, check: `${values.check}`, ...(idsFrom && { idsFrom }) } };
}

/** @returns the exit code */
async function run({ path, type, query }: ReturnType<typeof importArguments>): Promise<number> {
  const isCsv = type !== NDJSON;
  const rejectedPath = `${path === '-' ? 'stdin' : path}.rejected.${isCsv ? 'csv' : 'ndjson'}`;
  const { stream, size } = source(path);
  const send = sender(serviceAddress(), type);
  const rejected = query.check === 'true' ? undefined : rejectedFile(rejectedPath, 'idsFrom' in query);
  const counts = { created: 0, changed: 0, unchanged: 0, refused: 0 };
  const ignored = new Set<string>();
  const start = performance.now();
  let plants = 0;
  let bytes = 0;
  const hideProgress = showProgress(() => ({ plants, part: size && bytes / size }), process.stderr);
  try {
    for await (const part of sendList(stream, isCsv, query, send)) {
      rejected?.add(part);
      for (const name of new Set(part.ignored).difference(ignored)) say(`ignored: ${name}`);
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
    rejected?.close();
    stream.destroy();
    console.log(summary(plants, counts, (performance.now() - start) / 1_000));
    if (rejected && counts.refused > 0)
      console.log(`Refused records are in ${rejectedPath}. Correct them, and import that file.`);
  }
  if (stop.aborted) say(`Interrupted. ${RUN_AGAIN}`);
  return stop.aborted ? stop.reason : counts.refused > 0 ? 2 : 0;
}

/** A file, or standard input for `-`. @throws Error if there is no file of that name */
function source(path: string) {
  const stats = path === '-' ? undefined : statSync(path);
  // Opening a pipe would wait for its writer.
  if (stats?.isFile() === false) throw new Error(`${path} is not a file: name one, or - for standard input`);
  const stream = stats ? createReadStream(path, { highWaterMark: 1024 ** 2 }) : process.stdin;
  return { stream: addAbortSignal(stop, stream), size: stats?.size };
}

/** Sends parts to the service, and again for a while if that may help. */
function sender({ url, token }: ReturnType<typeof serviceAddress>, type: string): Send {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': type };

  async function post(...[query, body]: Parameters<Send>) {
    const signal = AbortSignal.timeout(PATIENCE);
    const target = `${url}/import?${new URLSearchParams(query)}`;
    const response = await fetch(target, { method: 'POST', redirect: 'error', headers, body, signal });
    return { status: response.status, text: await response.text() };
  }

  return async (...part) => {
    for (let start = 0; ; await delay(1_000)) {
      const { status, text } = await post(...part).catch((error) => ({ status: 503, text: `${error.cause ?? error}` }));
      if (status === 200) return JSON.parse(text, exactId) as Awaited<ReturnType<Send>>;
      // A proxy may respond with something else than JSON.
      const { error = 0, message = `${status} ${text.slice(0, 200)}` } = text.startsWith('{') ? JSON.parse(text) : {};
      if (status === 413 || error === 40013) return undefined;
      if (status < 500 && status !== 408 && status !== 429) throw new Error(message);
      if (start === 0) say(`${url} cannot be used now (${message}): trying again for a minute`);
      start ||= performance.now();
      if (stop.aborted || performance.now() - start > PATIENCE) throw new Error(`${url}: ${message}. ${RUN_AGAIN}`);
    }
  };
}

/** JSON.parse makes a number of an id, which loses digits. */
function exactId(key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return key === 'id' && context?.source ? BigInt(context.source) : value;
}
