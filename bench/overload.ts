import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { residentMemory } from '../tooling/linux-process.ts';
import { plantStore } from '../tooling/server-process.ts';
import { median } from '../tooling/statistics.ts';
import { runLoad } from './harness/load.ts';
import { checkRows, MIB } from './harness/measure.ts';
import { atLeast, atMost } from './harness/results.ts';
import { onDatabase, scenario } from './harness/scenario.ts';

/*
 * npm run bench -- overload [--seconds 10]
 *
 * 64 clients work alone, then together with 2,000 others, twice as many as MAX_REQUESTS admits, then alone again. The
 * service's own log tells how long each answer took from the end of its headers.
 */

const CLIENTS = 64;
const CROWD = 2_000;
const SECOND = 1_000;
/** The service's default. */
const STORE_TIMEOUT = 5_000;

/** A line of the log: milliseconds since 1970, and of a request how many it took. */
type Line = Partial<Record<'status' | 'durationMs', number>> & { readonly time: number };

await scenario('overload', { seconds: 10 }, async (session, { seconds: third }) => {
  const { folder, signal } = session;
  const { database, start: starting } = await onDatabase(session);
  const log = join(folder, 'requests.log');
  const { title, url, pid } = await starting(plantStore, { log });
  const load = (connections: number, seconds: number) => runLoad(url, { connections, seconds, signal });
  // Until V8 has compiled what is hot.
  await load(CLIENTS, third);

  const start = Date.now();
  await load(CLIENTS, third);
  const alone = residentMemory(pid, 'peak') / MIB;
  const [rise, clients] = [Date.now(), load(CLIENTS, 2 * third)];
  await load(CROWD, third);
  const fall = Date.now();
  const meanwhile = residentMemory(pid, 'peak') / MIB;
  await clients;
  const rows = await database.countSettledPlants();

  // With the lines of the warm-up, whose plants are in the table, too.
  const lines: Line[] = (await readFile(log, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const answers = lines.flatMap(({ durationMs, ...line }) =>
    durationMs === undefined ? [] : [{ ...line, durationMs }],
  );
  const crowded = answers.filter(({ time }) => time >= rise && time < fall);
  const created = answers.filter(({ status }) => status === 200);
  checkRows(title, rows, created.length, CLIENTS + CROWD);
  const perSecond = (from: number) => created.filter(({ time }) => time >= from && time < from + SECOND).length;
  const before = median(Array.from({ length: third - 2 }, (_, n) => perSecond(start + (n + 1) * SECOND)));
  const longest = (status: number) =>
    crowded.reduce((most, answer) => (answer.status === status ? Math.max(most, answer.durationMs) : most), 0);
  const claims = [
    atLeast(1, 'creates that are refused with 503', [crowded.filter(({ status }) => status === 503).length]),
    atMost(100, 'a refusal takes at most, ms', [longest(503)]),
    atMost(STORE_TIMEOUT, 'an accepted one takes at most, ms', [longest(200)]),
    atMost(2, 'peak memory meanwhile ÷ before', [meanwhile / alone]),
    atLeast(0.9, 'creates a second after it ÷ before', [perSecond(fall + SECOND) / before]),
  ];
  return { database, claims };
});
