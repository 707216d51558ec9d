import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cpuTime, cpuTimeOfFamily, residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer, TOKEN } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost, type Claim } from './claims.ts';
import { contenders } from './contenders.ts';
import { type Load, runLoad } from './load.ts';
import { publish } from './output.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- reads [--plants 1000000] [--stream 10000000] [--rounds 5] [--seconds 4]
 *
 * Reads beside Fastify + pg doing the same, on a table of a million: one plant by random id, a page of 100 after a random
 * id, and all as a stream. Pages of one tag of a hundred beside pages of all plants, and beside creates. Then a stream of
 * ten million beside COPY, the memory and the connections that fast, slow and vanished readers take, and what three
 * streams leave of the creates. Ratios are made within a round.
 */

const { values } = parseArgs({
  options: {
    plants: { type: 'string' },
    stream: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const plants = positive(values.plants, 1_000_000);
const streamed = positive(values.stream, 10_000_000);
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 4);
const MIB = 1024 ** 2;

/** Seconds that creates and slow readers are watched. */
const WATCHED = 10;

await session(async (session) => {
  const database = await createDatabase(await findPostgres(session), session);
  const [ours, fastify] = [
    await startServer(plantStore, database.url, session),
    await startServer(contenders.fastify, database.url, session),
  ];
  const claims: Claim[] = [];

  await fill(database, plants);
  const load = { seconds, plants, signal: session.signal };
  for (const { url } of [ours, fastify]) {
    for (const request of ['plant', 'page'] as const) await runLoad(url, { ...load, connections: 64, request });
  }
  const single = await compare(ours, fastify, database, { ...load, connections: 64, request: 'plant' });
  const alone = await compare(ours, fastify, database, { ...load, connections: 1, request: 'plant' });
  const page = await compare(ours, fastify, database, { ...load, connections: 64, request: 'page' });
  const tagged = await inRounds('pages of a tag ÷ pages of all', async () => {
    const rateOf = async (request: 'page' | 'taggedPage') =>
      (await measureReads(ours, database, { ...load, connections: 64, request })).rate;
    return (await rateOf('taggedPage')) / (await rateOf('page'));
  });
  const taggedBeside = await inRounds('pages of a tag beside creates, p99 in ms', async () => {
    const creates = runLoad(ours.url, { ...load, connections: 16 });
    const { p99 } = await measureReads(ours, database, { ...load, connections: 64, request: 'taggedPage' });
    await creates;
    return p99;
  });
  claims.push(
    atLeast(1.3, 'one plant, 64 connections: throughput ÷ Fastify + pg', single.throughput),
    atMost(0.65, 'the same: CPU of service and Postgres ÷ its', single.cpu),
    atMost(1.3, 'one plant, 1 connection: p50 ÷ Fastify + pg', alone.p50),
    atLeast(1, 'a page of 100, 64 connections: throughput ÷ Fastify + pg', page.throughput),
    atLeast(0.6, 'a page of 100 with one of a hundred tags, 64 connections: throughput ÷ without a tag', tagged),
    atMost(200, 'the same beside 16 connections that create: p99, ms', taggedBeside),
  );

  const ofFastify = median(await inRounds('all plants', async () => (await stream(fastify)) / (await stream(ours))));

  await fill(database, streamed);
  const idle = residentMemory(ours.pid, 'now');
  const copied = await inRounds('stream ÷ COPY', async () => {
    const copy = await timed(() => database.query('copy (select id, name, tag from plants order by id) to stdout'));
    return copy / (await stream(ours));
  });
  const slow = await slowReader(ours, database);
  const gone = await gonePeak(ours);
  const fast = await peakDuring(ours, stream(ours));
  claims.push(
    atLeast(0.25, 'a stream of all plants: plants/s ÷ COPY', copied),
    ...Object.entries({ fast, slow: slow.memory, gone }).map(([reader, peak]) =>
      atMost(60, `MiB above idle, the client ${reader}`, [(peak - idle) / MIB]),
    ),
    atMost(0.1, 'part of the time that a slow client has a connection to Postgres', [slow.busyPart]),
  );

  const beside: { throughput: number; p99: number }[] = [];
  for (let round = 1; round <= rounds; round++) beside.push(await createsBesideStreams(ours, session.signal));
  claims.push(
    atLeast(
      0.6,
      'creates beside 3 streams, 64 connections: throughput ÷ alone',
      beside.map(({ throughput }) => throughput),
    ),
    atMost(
      3,
      'the same: p99 ÷ alone',
      beside.map(({ p99 }) => p99),
    ),
    atMost(250, 'embedded database: longest create beside a stream, ms', [await embeddedCreate(session)]),
  );

  console.log(`\n${claimTable(claims)}`);
  console.log(`a stream of all ${number(plants, 0)} plants: ${number(ofFastify)} of the plants/s of Fastify + pg`);
  const { machine, versions, ...where } = await circumstances(database);
  publish('reads.json', {
    ...where,
    machine,
    versions,
    settings: { plants, streamed, rounds, seconds },
    ofFastify,
    claims,
  });
});

/** Fills the table, emptied before, with plants of the ids from 1, as Postgres does it fastest. */
async function fill({ query }: BenchDatabase, count: number): Promise<void> {
  await query('truncate plants');
  await query(
    `insert into plants (id, name, tag) select n, 'Plant number ' || n, case when n % 3 > 0 then 'tag ' || n % 100 end
     from generate_series(1, $1::bigint) as n`,
    [count],
  );
  await query('vacuum analyze plants');
  await query('checkpoint');
}

/** Ratios of our figures to Fastify's, one for each round. */
async function compare(ours: Server, fastify: Server, database: BenchDatabase, load: Load) {
  const throughput: number[] = [];
  const cpu: number[] = [];
  const p50: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const [mine, its] = [await measureReads(ours, database, load), await measureReads(fastify, database, load)];
    throughput.push(mine.rate / its.rate);
    cpu.push(mine.cpu / its.cpu);
    p50.push(mine.p50 / its.p50);
    console.error(
      `${load.request}, ${load.connections} connections, round ${round}/${rounds}: ${number(mine.rate, 0)}/s, ` +
        `Fastify ${number(its.rate, 0)}/s`,
    );
  }
  return { throughput, cpu, p50 };
}

/** @returns requests a second, milliseconds, and seconds of CPU time of server and Postgres for each request */
async function measureReads({ url, pid }: Server, { postmaster }: BenchDatabase, load: Load) {
  const cpuNow = () => cpuTime(pid).own + cpuTimeOfFamily(postmaster);
  const start = cpuNow();
  const { answers, failures, seconds: took, p50, p99 } = await runLoad(url, load);
  if (failures > 0) throw new Error(`${failures} reads failed`);
  return { rate: answers / took, p50, p99, cpu: (cpuNow() - start) / answers };
}

async function inRounds(what: string, once: () => Promise<number>): Promise<number[]> {
  const results: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    results.push(await once());
    console.error(`${what}, round ${round}/${rounds}: ${number(results.at(-1) ?? Number.NaN)}`);
  }
  return results;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}

function curl({ url }: Server, ...more: readonly string[]) {
  const args = ['-sf', '-o', '/dev/null', '-H', `Authorization: Bearer ${TOKEN}`, ...more, `${url}/plants`];
  return spawn('curl', args, { stdio: 'ignore' });
}

/** Reads all plants as fast as they come. @returns the seconds that it took */
function stream(server: Server): Promise<number> {
  return timed(async () => {
    const [code] = await once(curl(server), 'exit');
    if (code !== 0) throw new Error(`the stream was broken off (curl: ${code})`);
  });
}

/** @returns the most bytes of resident memory until the work is done */
async function peakDuring({ pid }: Server, work: Promise<unknown>): Promise<number> {
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMemory(pid, 'now'));
  }, 50);
  try {
    await work;
  } finally {
    clearInterval(sampling);
  }
  return peak;
}

/** A client that reads 200 KiB a second: the memory, and how often a connection of the service was not idle. */
async function slowReader(server: Server, { query }: BenchDatabase) {
  const client = curl(server, '--limit-rate', '200k');
  let samples = 0;
  let busy = 0;
  const memory = await peakDuring(
    server,
    (async () => {
      for (const end = performance.now() + WATCHED * 1_000; performance.now() < end; samples++) {
        const [row] = await query(
          `select count(*) from pg_stat_activity where application_name = 'plant-store' and state <> 'idle'`,
        );
        if (Number(row?.count) > 0) busy++;
        await sleep(20);
      }
    })(),
  );
  client.kill();
  await once(client, 'exit');
  return { memory, busyPart: busy / samples };
}

/** Twenty clients in turn that leave in the middle of a stream. */
function gonePeak(server: Server): Promise<number> {
  return peakDuring(
    server,
    (async () => {
      for (let n = 0; n < 20; n++) {
        const client = curl(server);
        await sleep(200);
        client.kill('SIGKILL');
        await once(client, 'exit');
      }
    })(),
  );
}

/** Creates alone, and then while three clients read all plants again and again. */
async function createsBesideStreams(server: Server, signal: AbortSignal) {
  const load = { connections: 64, seconds: WATCHED, signal };
  const alone = await runLoad(server.url, load);
  const stop = new AbortController();
  const readers = [1, 2, 3].map(async () => {
    while (!stop.signal.aborted) {
      const client = curl(server);
      stop.signal.addEventListener('abort', () => client.kill(), { once: true });
      await once(client, 'exit');
    }
  });
  const beside = await runLoad(server.url, load);
  stop.abort();
  await Promise.all(readers);
  const result = {
    throughput: beside.answers / beside.seconds / (alone.answers / alone.seconds),
    p99: beside.p99 / alone.p99,
  };
  console.error(`creates beside 3 streams: throughput ${number(result.throughput)}, p99 ${number(result.p99)}`);
  return result;
}

/** The longest of the creates, one after another, that a stream of the embedded database meets, in milliseconds. */
async function embeddedCreate(session: Session): Promise<number> {
  const dataDir = join(session.folder, 'embedded');
  const server = await startServer(
    { ...plantStore, environment: { DATABASE_URL: '', DATA_DIR: dataDir } },
    '',
    session,
  );
  const create = async (id: number) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ id, name: `Plant number ${id}`, tag: 'tag' });
    const response = await fetch(`${server.url}/plants`, { method: 'POST', headers, body });
    if (response.status !== 200) throw new Error(`a create got ${response.status}`);
    await response.arrayBuffer();
  };
  const COUNT = 100_000;
  for (let id = 0; id < COUNT; id += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => create(id + n)));
  }
  let longest = 0;
  let reading = true;
  const readers = Promise.all([stream(server), stream(server), stream(server)]).finally(() => {
    reading = false;
  });
  for (let id = COUNT; reading; id++) longest = Math.max(longest, await timed(() => create(id)));
  await readers;
  return longest * 1_000;
}
