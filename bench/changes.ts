import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuTimeOfFamily, residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost } from './claims.ts';
import { contenders } from './contenders.ts';
import { createPlant } from './create-plant.ts';
import { endOf, type Follower, follow } from './follower.ts';
import { type Load, runLoad } from './load.ts';
import { publish } from './output.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- changes [--rounds 5] [--seconds 4] [--waiting 2000]
 *
 * Deletions beside creates, changes beside Fastify + pg doing the same, what followers of /changes take from creates, how
 * soon waiting ones get a change of their own instance and of another one, and what thousands of them cost. Ratios are
 * made within a round.
 */

const { values } = parseArgs({
  options: { rounds: { type: 'string' }, seconds: { type: 'string' }, waiting: { type: 'string' } },
});
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 4);
const waiting = positive(values.waiting, 2_000);
const MIB = 1024 ** 2;

const FOLLOWERS = 20;
/** Plants to delete: more than can be deleted within a run. */
const STOCK = 200_000;
/** Changes, one after another, whose way to a follower is timed. */
const TIMED = 100;

/** Plants created for followers so far. */
let created = 0;

await session(async (session) => {
  const { signal } = session;
  const database = await createDatabase(await findPostgres(session), session);
  const [one, other] = [
    await startServer(plantStore, database.url, session),
    await startServer(plantStore, database.url, session),
  ];
  const load = { connections: 64, seconds, signal };
  await runLoad(one.url, { ...load, seconds: 10 });
  const createsPerSecond = async () => {
    const { answers, seconds } = await runLoad(one.url, load);
    return answers / seconds;
  };

  const fastify = await startServer(contenders.fastify, database.url, session);
  await fill(database);
  await runLoad(fastify.url, { ...load, seconds: 10, request: 'change', plants: STOCK });

  const deletions: number[] = [];
  const changes: number[] = [];
  const followed: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await startAfresh(database);
    const alone = await createsPerSecond();
    deletions.push((await writesPerSecond(one, database, { ...load, request: 'delete' })) / alone);
    const ours = await writesPerSecond(one, database, { ...load, request: 'change' });
    changes.push(ours / (await writesPerSecond(fastify, database, { ...load, request: 'change' })));
    await startAfresh(database);
    followed.push((await besideFollowers(one, createsPerSecond)) / alone);
    const figures = Object.entries({ deletions, changes, followed }).map(
      ([name, all]) => `${name} ${number(all.at(-1) ?? 0)}`,
    );
    console.error(`round ${round}/${rounds}: ${figures.join(', ')}`);
  }

  await startAfresh(database);
  const own = await latencies(one, one, signal);
  const foreign = await latencies(one, other, signal);
  const idle = residentMemory(one.pid, 'now');
  const single = await crowd(one, database, 1, signal);
  const many = await crowd(one, database, waiting, signal);

  const claims = [
    atLeast(0.7, 'deletions, 64 connections: requests/s ÷ creates', deletions),
    atLeast(1.5, 'changes of one plant after another, 64 connections: requests/s ÷ Fastify + pg', changes),
    atLeast(0.8, `creates beside ${FOLLOWERS} followers, 64 connections: throughput ÷ alone`, followed),
    atMost(10, 'from the response of a create to a waiting follower of the same instance: p50, ms', [median(own)]),
    atMost(50, 'the same, of another instance: p50, ms', [median(foreign)]),
    atMost(
      1_000,
      `one create a second: ms until the last of ${number(waiting, 0)} waiting followers has it`,
      many.spread,
    ),
    atMost(2, `CPU of Postgres with ${number(waiting, 0)} waiting followers and no change ÷ with one`, [
      many.probing / single.probing,
    ]),
    atMost(200, `MiB above idle with ${number(waiting, 0)} waiting followers`, [(many.memory - idle) / MIB]),
  ];
  console.log(`\n${claimTable(claims)}`);
  const { machine, versions, ...where } = await circumstances(database);
  publish('changes.json', { ...where, machine, versions, settings: { rounds, seconds, waiting }, claims });
});

async function fill({ query }: BenchDatabase): Promise<void> {
  await query('truncate plants');
  await query(
    `insert into plants (id, name, tag) select n, 'Plant number ' || n, 'tag' from generate_series(1, $1) as n`,
    [STOCK],
  );
  await query('vacuum analyze plants');
  await query('checkpoint');
}

/** @throws Error if fewer plants differ from what `fill` has stored, as when one is changed again and again */
async function requireDifferent({ query }: BenchDatabase, plants: number): Promise<void> {
  const [row] = await query("select count(*) from plants where name <> 'Plant number ' || id");
  if (Number(row?.count) < plants) throw new Error(`${plants} changes answered, ${row?.count} plants changed`);
}

/** @returns requests a second on plants that `fill` has stored */
async function writesPerSecond(
  { url }: Server,
  database: BenchDatabase,
  load: Load & { readonly request: 'change' | 'delete' },
): Promise<number> {
  await fill(database);
  const { answers, failures, seconds } = await runLoad(url, { ...load, plants: STOCK });
  if (failures > 0) throw new Error(`${failures} requests failed`);
  await requireDifferent(database, answers);
  return answers / seconds;
}

/** Does the work while followers get every change. */
async function besideFollowers<Result>({ url }: Server, work: () => Promise<Result>): Promise<Result> {
  const stop = new AbortController();
  const from = await endOf(url, stop.signal);
  const followers = Array.from({ length: FOLLOWERS }, () => follow(url, from, stop.signal));
  const result = await work();
  const counts = followers.map((follower) => follower.count());
  stop.abort();
  console.error(`each of the followers got ${number(Math.min(...counts), 0)} changes or more`);
  return result;
}

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

function create(server: Server): Promise<void> {
  return createPlant(server, { id: -1_000 - created++, name: 'Plant for the followers' });
}

/**
 * So many followers that wait: while nothing changes, and while one plant is created each second.
 *
 * @returns `spread`, the milliseconds from each create until the last follower had it, and `probing`, seconds of
 * Postgres's CPU time for each second without a change; `memory` of the service in the end, in bytes
 */
async function crowd(server: Server, { postmaster }: BenchDatabase, size: number, signal: AbortSignal) {
  const stop = new AbortController();
  const from = await endOf(server.url, signal);
  const followers: Follower[] = [];
  for (let n = 0; n < size; n++) {
    followers.push(follow(server.url, from, stop.signal));
    // Node accepts one connection in each turn of its event loop.
    if (n % 50 === 0) await sleep(20);
  }
  await sleep(1_000);
  const start = cpuTimeOfFamily(postmaster);
  await sleep(5_000);
  const probing = (cpuTimeOfFamily(postmaster) - start) / 5;
  const spread: number[] = [];
  for (let n = 0; n < 5; n++) {
    const changed = Promise.all(followers.map((follower) => follower.changed()));
    const before = performance.now();
    await create(server);
    spread.push(Math.max(...(await changed)) - before);
    await sleep(1_000);
  }
  const memory = residentMemory(server.pid, 'now');
  stop.abort();
  return { spread, probing, memory };
}
