import { setTimeout as sleep } from 'node:timers/promises';
import { residentMemory } from '../tooling/linux-process.ts';
import { fastify } from './harness/contenders.ts';
import { type Load, runLoad } from './harness/load.ts';
import { MIB, measure, peakDuring } from './harness/measure.ts';
import { fill } from './harness/plants.ts';
import { openStream, slowStream, stream } from './harness/readers.ts';
import { atLeast, atMost } from './harness/results.ts';
import { inRounds, pairs, timed } from './harness/rounds.ts';
import { onDatabase, scenario } from './harness/scenario.ts';

/*
 * npm run bench -- reads [--plants 1000000] [--stream 10000000] [--rounds 5] [--seconds 4]
 *
 * One plant by a random id and a page of 100 after a random id, beside Fastify + pg; pages of one tag of a hundred beside
 * pages of all plants; a stream beside COPY, and the memory and the connections that fast, slow and vanished readers take.
 * At last, plants of 80 KB, of which only some fit into a group, read by 256 clients.
 */

const LARGE = { plants: 1_000, connections: 256 };
/** 80 KB of text that does not compress, since Postgres compresses what is large. */
const LARGE_NAME = `(select string_agg(md5(n || ' ' || k), '') from generate_series(1, 2500) as k)`;

const defaults = { plants: 1_000_000, stream: 10_000_000, rounds: 5, seconds: 4 };
await scenario('reads', defaults, async (session, { plants, stream: streamed, rounds, seconds }) => {
  const { signal } = session;
  const { database, start } = await onDatabase(session);
  const [ours, theirs] = [await start(), await start(fastify)];
  const reading = (server: typeof ours, request: 'plant' | 'page' | 'taggedPage', connections = 64) => {
    const load: Load = { request, connections, plants, seconds, signal };
    return async () => ({ ...(await measure(server, database, load)) });
  };

  await fill(database, plants);
  for (const server of [ours, theirs])
    for (const request of ['plant', 'page'] as const) await reading(server, request)();
  const one = await pairs(rounds, 'one plant', reading(ours, 'plant'), reading(theirs, 'plant'));
  const alone = await pairs(rounds, 'the same, alone', reading(ours, 'plant', 1), reading(theirs, 'plant', 1));
  const page = await pairs(rounds, 'a page', reading(ours, 'page'), reading(theirs, 'page'));
  const tagged = await pairs(rounds, 'a page of a tag', reading(ours, 'taggedPage'), reading(ours, 'page'));

  await fill(database, streamed);
  const idle = residentMemory(ours.pid, 'now') / MIB;
  const copied = await inRounds(rounds, 'all plants', async () => {
    const copy = await timed(() => database.query('copy (select id, name, tag from plants order by id) to stdout'));
    return { ofCopy: copy / (await timed(() => stream(ours))) };
  });
  const fast = await peakDuring(ours, stream(ours));
  const stop = new AbortController();
  const slowly = slowStream(ours, 200_000, stop.signal);
  let [samples, busy] = [0, 0];
  const watch = async () => {
    for (; samples < 400; samples++, await sleep(20)) {
      const [row] = await database.query(
        `select count(*) from pg_stat_activity where application_name = 'plant-store' and state <> 'idle'`,
      );
      if (Number(row?.count) > 0) busy++;
    }
  };
  const slow = await peakDuring(ours, watch());
  stop.abort();
  await slowly;
  const leave = async () => {
    for (let n = 0; n < 20; n++) {
      const response = await openStream(ours);
      response.resume();
      await sleep(200);
      response.destroy();
    }
  };
  const gone = await peakDuring(ours, leave());

  await fill(database, LARGE.plants, LARGE_NAME);
  const readLarge = () => runLoad(ours.url, { ...LARGE, request: 'plant', seconds, signal });
  await readLarge();
  const large = await inRounds(rounds, 'plants of 80 KB', async () => {
    const { p99, failures } = await readLarge();
    return { p99, failures };
  });
  const claims = [
    atLeast(1.3, 'one plant, 64 connections: throughput ÷ Fastify + pg', one.requestsPerSecond),
    atMost(0.65, 'the same: CPU of service and Postgres ÷ its', one.cpu),
    atMost(1.3, 'one plant, 1 connection: p50 ÷ Fastify + pg', alone.p50),
    atLeast(1, 'a page of 100, 64 connections: throughput ÷ Fastify + pg', page.requestsPerSecond),
    atLeast(0.6, 'the same with one of a hundred tags: throughput ÷ without a tag', tagged.requestsPerSecond),
    atLeast(0.25, 'a stream of all plants: plants/s ÷ COPY', copied.ofCopy),
    ...Object.entries({ fast, slow, gone }).map(([reader, peak]) =>
      atMost(60, `MiB above idle, the client ${reader}`, [peak - idle]),
    ),
    atMost(0.1, 'part of the time that a slow client has a connection to Postgres', [busy / samples]),
    atMost(1_500, 'plants of 80 KB, 256 connections: p99, ms', large.p99),
    atMost(0, 'the same: responses other than 200', large.failures),
  ];
  return { database, claims };
});
