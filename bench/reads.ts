import { parseArgs } from 'node:util';
import { cpuTime, cpuTimeOfFamily, residentMemory } from '../tooling/linux-process.ts';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost, type Claim } from './claims.ts';
import { contenders } from './contenders.ts';
import { addLargePlants, readLargePlants } from './large-plants.ts';
import { type Load, type LoadResult, runLoad } from './load.ts';
import { publish } from './output.ts';
import { inRounds, timed } from './rounds.ts';
import { createsBesideStreams, embeddedCreate, gonePeak, peakDuring, slowReader, stream } from './stream-clients.ts';
import { claimTable } from './tables.ts';

/*
 * npm run bench -- reads [--plants 1000000] [--stream 10000000] [--rounds 5] [--seconds 4]
 *
 * Reads beside Fastify + pg doing the same, on a table of a million: one plant by random id, a page of 100 after a random
 * id, and all as a stream. Pages of one tag of a hundred beside pages of all plants, and beside creates. Then a stream of
 * ten million beside COPY, the memory and the connections that fast, slow and vanished readers take, and what three
 * streams leave of the creates. At last, plants of 80 KB that 256 clients read. Ratios are made within a round.
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
  const tagged = await inRounds(rounds, 'pages of a tag ÷ pages of all', async () => {
    const rateOf = async (request: 'page' | 'taggedPage') =>
      (await measureReads(ours, database, { ...load, connections: 64, request })).rate;
    return (await rateOf('taggedPage')) / (await rateOf('page'));
  });
  const taggedBeside = await inRounds(rounds, 'pages of a tag beside creates, p99 in ms', async () => {
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

  const ofFastify = median(
    await inRounds(rounds, 'all plants', async () => (await stream(fastify)) / (await stream(ours))),
  );

  await fill(database, streamed);
  const idle = residentMemory(ours.pid, 'now');
  const copied = await inRounds(rounds, 'stream ÷ COPY', async () => {
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

  await addLargePlants(database);
  await readLargePlants(ours, seconds, session.signal);
  const large: Pick<LoadResult, 'p99' | 'failures'>[] = [];
  for (let round = 1; round <= rounds; round++) {
    const { p99, failures } = await readLargePlants(ours, seconds, session.signal);
    console.error(`plants of 80 KB, round ${round}/${rounds}: p99 ${number(p99)} ms, ${failures} failures`);
    large.push({ p99, failures });
  }
  claims.push(
    atMost(
      1_500,
      'plants of 80 KB, 256 connections: p99, ms',
      large.map(({ p99 }) => p99),
    ),
    atMost(
      0,
      'the same: responses other than 200',
      large.map(({ failures }) => failures),
    ),
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
