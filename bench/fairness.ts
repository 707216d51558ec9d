import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { plantStore, type Server } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';
import { type BenchDatabase, startAfresh } from '../tooling/session-database.ts';
import { startImport } from './harness/importer.ts';
import { runLoad } from './harness/load.ts';
import { addScatteredPlants, createPlant, writeList } from './harness/plants.ts';
import { endOf, follow, searchOn, stream } from './harness/readers.ts';
import { atLeast, atMost, type Claim } from './harness/results.ts';
import { pairs } from './harness/rounds.ts';
import { onDatabase, scenario } from './harness/scenario.ts';
import { startReceiver, webhookEnvironment } from './harness/webhooks.ts';

/*
 * npm run bench -- fairness [--plants 300000] [--rounds 5] [--seconds 10]
 *
 * 64 creators, and 16 readers of one plant, beside what others do: an import, a stream, a search, followers, a webhook to
 * which all plants are to be delivered, more of the same kind, and one of each at once. Creates as a ratio of those alone,
 * in the same round, and the p99 of the reads. Meant for two cores shared with Postgres and the load.
 */

/** Seconds of a disturbance before the load. */
const LEAD = 1;
/** More than an import brings in a second beside creates. */
const IMPORTED = 60_000;
const FOLLOWERS = 20;
const PARK = 'update webhooks set parked = true, holder = null';

/** What goes on until the signal aborts. */
type Disturbance = (signal: AbortSignal) => Promise<unknown>;

const defaults = { plants: 300_000, rounds: 5, seconds: 10 };
await scenario('fairness', defaults, async (session, { plants, rounds, seconds }) => {
  const { database, start } = await onDatabase(session);
  const receiver = await startReceiver(session);
  const server = await start({ ...plantStore, environment: webhookEnvironment(receiver.url) });
  while ((await database.query('select from webhooks where holder is not null')).length === 0) await sleep(50);
  await database.query(PARK);

  const kinds = await disturbances(server, database, session, IMPORTED * (seconds + LEAD));
  const cases: [name: string, atLeast: number, beside: Disturbance[]][] = [
    ['an import', 0.6, [kinds.import]],
    ['four imports', 0.4, Array(4).fill(kinds.import)],
    ['a stream', 0.6, [kinds.stream]],
    ['three streams', 0.6, Array(3).fill(kinds.stream)],
    ['a search', 0.7, [kinds.search]],
    ['eight clients that search', 0.7, Array(8).fill(kinds.search)],
    [`${FOLLOWERS} followers`, 0.8, [kinds.followers]],
    ['a webhook', 0.7, [kinds.webhook]],
    ['one of each', 0.25, Object.values(kinds)],
  ];

  async function load(beside: Disturbance[]): Promise<{ creates: number; p99: number }> {
    await startAfresh(database);
    await addScatteredPlants(database, plants);
    await createPlant(server, 1);
    const stop = new AbortController();
    const running = beside.map((disturbance) => disturbance(stop.signal));
    // They go on until they are stopped: they come first only by failing, or by ending too soon.
    const ended = Promise.race(running).then(() => stop.signal.aborted || Promise.reject(new Error('ended too soon')));
    const loaded = async () => {
      if (beside.length > 0) await sleep(LEAD * 1_000);
      const common = { seconds, signal: session.signal };
      const reads = runLoad(server.url, { ...common, request: 'GET /plants/1', connections: 16 });
      const { answers, seconds: took, failures } = await runLoad(server.url, { ...common, connections: 64 });
      const read = await reads;
      if (failures + read.failures > 0) throw new Error(`${failures} creates and ${read.failures} reads failed`);
      return { creates: answers / took, p99: read.p99 };
    };
    const result = await (beside.length > 0 ? Promise.race([loaded(), ended as Promise<never>]) : loaded());
    stop.abort();
    await Promise.allSettled(running);
    return result;
  }

  // Until V8 has compiled what is hot.
  await load([]);
  const claims: Claim[] = [];
  for (const [name, limit, beside] of cases) {
    const p99s: number[] = [];
    const disturbed = async () => {
      const figures = await load(beside);
      p99s.push(figures.p99);
      return figures;
    };
    const { creates } = await pairs(rounds, `beside ${name}`, disturbed, () => load([]));
    claims.push(atLeast(limit, `creates beside ${name}: throughput ÷ alone`, creates));
    claims.push(atMost(200, 'the same: p99 of a read, ms', p99s));
  }
  return { database, claims };
});

async function disturbances(server: Server, database: BenchDatabase, session: Session, imported: number) {
  const lists: string[] = [];
  while (lists.length < 4) lists.push(await writeList('ndjson', imported, session));
  let imports = 0;
  return {
    async import(signal) {
      const importing = startImport(server, lists[imports++ % lists.length] ?? '', session);
      signal.addEventListener('abort', importing.stop);
      await importing.done();
    },
    async stream(signal) {
      while (!signal.aborted) await stream(server, '', 'application/x-ndjson', signal);
    },
    search: (signal) => searchOn(server, signal),
    async followers(signal) {
      const from = await endOf(server.url, signal);
      await Promise.all(Array.from({ length: FOLLOWERS }, () => follow(server.url, from, signal).ended));
    },
    // All plants wait for it, since it was parked when they came.
    async webhook(signal) {
      await database.query(`update webhooks set parked = false, retry_at = '-infinity'`);
      await once(signal, 'abort');
      await database.query(PARK);
    },
  } satisfies Record<string, Disturbance>;
}
