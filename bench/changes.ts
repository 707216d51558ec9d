import { setTimeout as sleep } from 'node:timers/promises';
import { residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';
import { type BenchDatabase, startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { fastify } from './harness/contenders.ts';
import { runLoad } from './harness/load.ts';
import { cpuMeter, MIB, measure } from './harness/measure.ts';
import { createPlant, fill } from './harness/plants.ts';
import { endOf, type Follower, follow } from './harness/readers.ts';
import { atLeast, atMost } from './harness/results.ts';
import { inRounds, pairs } from './harness/rounds.ts';
import { onDatabase, scenario } from './harness/scenario.ts';
import { startReceiver, webhookEnvironment } from './harness/webhooks.ts';

/*
 * npm run bench -- changes [--rounds 5] [--seconds 4] [--waiting 500]
 *
 * Deletions beside creates, and changes beside Fastify + pg doing the same; how soon waiting followers of /changes get a
 * change of their own instance and of another one, and what hundreds of them cost; how fast a webhook delivers what has
 * piled up, and the CPU that idle ones take.
 */

/** Plants to change or delete, which may not end within a run; and those that a webhook delivers. */
const STOCK = 200_000;
const ANNOUNCED = 50_000;
/** Changes, one after another, whose way to a follower is timed. */
const TIMED = 100;
/** As many webhooks as there may be. */
const MANY = 100;

let created = 0;
const create = (server: Server) => createPlant(server, -1 - created++);

await scenario('changes', { rounds: 5, seconds: 4, waiting: 500 }, async (session, { rounds, seconds, waiting }) => {
  const { signal } = session;
  const { database, start } = await onDatabase(session);
  const [one, other, theirs] = [await start(), await start(), await start(fastify)];
  const writing = (server: Server, request: 'create' | 'change' | 'delete') => async () => {
    await (request === 'create' ? startAfresh(database) : fill(database, STOCK));
    return { ...(await measure(server, database, { request, connections: 64, seconds, signal })) };
  };
  await runLoad(one.url, { connections: 64, seconds: 10, signal });
  for (const server of [one, theirs]) await writing(server, 'change')();
  const deletions = await pairs(rounds, 'deletions', writing(one, 'delete'), writing(one, 'create'));
  const changes = await pairs(rounds, 'changes', writing(one, 'change'), writing(theirs, 'change'));

  await startAfresh(database);
  const [own, foreign] = [await latencies(one, one, signal), await latencies(one, other, signal)];
  const idle = residentMemory(one.pid, 'now') / MIB;
  const single = await crowd(one, database, 1, signal);
  const many = await crowd(one, database, waiting, signal);
  for (const server of [one, other, theirs]) await server.stop();
  const webhooks = await delivering(database, rounds, session);

  const crowded = `${number(waiting, 0)} waiting followers`;
  const claims = [
    atLeast(0.7, 'deletions, 64 connections: requests/s ÷ creates', deletions.requestsPerSecond),
    atLeast(1.5, 'changes, one plant after another: requests/s ÷ Fastify + pg', changes.requestsPerSecond),
    atMost(10, 'from the response of a create to a waiting follower of the same instance: p50, ms', [median(own)]),
    atMost(50, 'the same, of another instance: p50, ms', [median(foreign)]),
    atMost(1_000, `one create a second: ms until the last of ${crowded} has it`, many.spread),
    atMost(2, `CPU of Postgres with ${crowded} and no change ÷ with one`, [many.probing / single.probing]),
    atMost(200, `MiB above idle with ${crowded}`, [many.memory - idle]),
    atLeast(2_000, 'plants that a webhook delivers a second, once many wait', webhooks.rate),
    atMost(5, 'CPU of service and Postgres for an idle webhook beyond that for none, in % of a core', webhooks.one),
    atMost(5, `the same for ${MANY} idle webhooks`, webhooks.many),
  ];
  return { database, claims };
});

/** @returns milliseconds from the response of a create to that of a waiting follower, for each create */
async function latencies(writer: Server, reader: Server, signal: AbortSignal): Promise<number[]> {
  const stop = new AbortController();
  const follower = follow(reader.url, await endOf(reader.url, signal), stop.signal);
  const results: number[] = [];
  for (let n = 0; n < TIMED; n++) {
    // Not in step with the probes; by then it waits.
    await sleep(100 + Math.random() * 100);
    const changed = follower.changed();
    await create(writer);
    const responded = performance.now();
    results.push(Math.max(0, (await changed) - responded));
  }
  stop.abort();
  return results;
}

/**
 * So many followers that wait: while nothing changes, and while one plant is created each second.
 *
 * @returns `spread`, the milliseconds from each create until the last follower had it, and `probing`, seconds of
 * Postgres's CPU time for five seconds without a change; `memory` of the service in the end, in MiB
 */
async function crowd(server: Server, database: BenchDatabase, size: number, signal: AbortSignal) {
  const stop = new AbortController();
  const from = await endOf(server.url, signal);
  const followers: Follower[] = [];
  for (let n = 0; n < size; n++) {
    followers.push(follow(server.url, from, stop.signal));
    // Node accepts one connection in each turn of its event loop.
    if (n % 50 === 0) await sleep(20);
  }
  await sleep(1_000);
  const used = cpuMeter(server, database);
  await sleep(5_000);
  const { postgres: probing } = used();
  const spread: number[] = [];
  for (let n = 0; n < 5; n++) {
    const changed = Promise.all(followers.map((follower) => follower.changed()));
    const before = performance.now();
    await create(server);
    spread.push(Math.max(...(await changed)) - before);
    await sleep(1_000);
  }
  const memory = residentMemory(server.pid, 'now') / MIB;
  stop.abort();
  return { spread, probing, memory };
}

/** @returns plants a second, and the CPU that one and many idle webhooks take beyond none, in percent of a core */
async function delivering(database: BenchDatabase, rounds: number, session: Session) {
  const receiver = await startReceiver(session);
  async function withWebhooks<T>(endpoints: number, work: (server: Server) => Promise<T>): Promise<T> {
    // The places of earlier ones.
    await database.query('delete from webhooks');
    const environment = webhookEnvironment(receiver.url, endpoints);
    const server = await startServer({ ...plantStore, environment }, database.url, session);
    const held = () => database.query('select from webhooks where holder is not null');
    while ((await held()).length < endpoints) await sleep(50);
    const result = await work(server);
    await server.stop();
    return result;
  }
  const idle = (endpoints: number) =>
    withWebhooks(endpoints, async (server) => {
      await sleep(5_000);
      const used = cpuMeter(server, database);
      await sleep(10_000);
      const { service, postgres } = used();
      return (service + postgres) * 10;
    });
  const rate = () =>
    withWebhooks(1, async () => {
      await startAfresh(database);
      const end = receiver.count() + ANNOUNCED;
      await database.query(`insert into plants (id, name) select n, 'Plant' from generate_series(1, $1::bigint) as n`, [
        ANNOUNCED,
      ]);
      const start = performance.now();
      while (receiver.count() < end) await sleep(20);
      return (ANNOUNCED * 1_000) / (performance.now() - start);
    });
  return inRounds(rounds, 'webhooks', async () => {
    const [delivered, none] = [await rate(), await idle(0)];
    return { rate: delivered, one: (await idle(1)) - none, many: (await idle(MANY)) - none };
  });
}
