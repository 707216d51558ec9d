import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { plantStore, type Server, startServer } from '../tooling/server-process.ts';
import { type Session, session } from '../tooling/session.ts';
import { type BenchDatabase, createDatabase, findPostgres } from '../tooling/session-database.ts';
import { circumstances } from './circumstances.ts';
import { atLeast, atMost, type Claim } from './claims.ts';
import { runLoad } from './load.ts';
import { publish } from './output.ts';
import { inRounds } from './rounds.ts';
import { addScatteredPlants } from './scattered-plants.ts';
import { besideSearches, firstPage, NOWHERE, searchPage, walk } from './searchers.ts';
import { stream } from './stream-clients.ts';
import { claimTable } from './tables.ts';
import { startReceiver, webhookEnvironment } from './webhook-receiver.ts';

/*
 * npm run bench -- search [--plants 1000000] [--rounds 5] [--seconds 10] [--added 10000000]
 *
 * Plants found by a part of their name, in a table of a million: the first page of a word that one name in sixteen has,
 * and all pages of a word that none has. Then what searches that go on all the time take from a stream of all plants,
 * from creates at 64 connections and from the deliveries of a webhook. Ratios are made within a round. At last, a stream
 * that finds nothing, once ten million more are in the table.
 */

const { values } = parseArgs({
  options: {
    plants: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    added: { type: 'string' },
  },
});
const plants = positive(values.plants, 1_000_000);
const rounds = positive(values.rounds, 5);
const seconds = positive(values.seconds, 10);
const added = positive(values.added, 10_000_000);

const FREQUENT = 'rosa';

/** Twice as many as may search at once. */
const MANY = 8;

/** Plants that a webhook announces in each run. */
const ANNOUNCED = 50_000;

await session(async (session) => {
  const database = await createDatabase(await findPostgres(session), session);
  const server = await startServer(plantStore, database.url, session);
  await addScatteredPlants(database, plants);
  await database.query('vacuum analyze plants');
  await database.query('checkpoint');
  // Until V8 has compiled what is hot.
  await walk(server, session.signal);
  await stream(server);

  const claims: Claim[] = [
    ...(await pages(server, session)),
    atLeast(
      0.7,
      'a stream of all plants beside a search: plants/s ÷ alone',
      await inRounds(rounds, 'a stream beside a search', async () => {
        const alone = await stream(server);
        return alone / (await besideSearches(server, 1, () => stream(server))).result;
      }),
    ),
    ...(await creates(server, session)),
  ];
  await server.stop();
  claims.push(
    atLeast(0.7, 'deliveries of a webhook beside a search: plants/s ÷ alone', await deliveries(database, session)),
    await emptyStream(database, session),
  );

  console.log(`\n${claimTable(claims)}`);
  const { machine, versions, ...where } = await circumstances(database);
  publish('search.json', { ...where, machine, versions, settings: { plants, rounds, seconds, added }, claims });
});

async function pages(server: Server, { signal }: Session): Promise<Claim[]> {
  const frequent = await inRounds(rounds, `the longest of ten first pages with "${FREQUENT}", ms`, async () => {
    const times: number[] = [];
    while (times.length < 10) {
      const { status, ms, plants } = await searchPage(firstPage(server, FREQUENT), signal);
      if (status !== 200 || plants === 0) throw new Error(`a search got ${status} and ${plants} plants`);
      times.push(ms);
    }
    return Math.max(...times);
  });
  const longest: number[] = [];
  const whole = await inRounds(rounds, 'all pages of a word that is nowhere, s', async () => {
    const times = await walk(server, signal);
    longest.push(Math.max(...times));
    return times.reduce((sum, ms) => sum + ms, 0) / 1_000;
  });
  return [
    atMost(100, 'the first 100 plants with a word of one name in sixteen, the longest of ten times: ms', frequent),
    atMost(1_500, 'a word that is nowhere: the longest page, ms', longest),
    atMost(15, 'the same: all pages, s', whole),
  ];
}

/** What searches leave of the creates, and what the searchers get. */
async function creates(server: Server, { signal }: Session): Promise<Claim[]> {
  async function rate(): Promise<number> {
    const { answers, seconds: took } = await runLoad(server.url, { connections: 64, seconds, signal });
    return answers / took;
  }
  await rate();
  const [one, many]: [number[], number[]] = [[], []];
  const [refused, others]: [number[], number[]] = [[], []];
  for (let round = 1; round <= rounds; round++) {
    const alone = await rate();
    one.push((await besideSearches(server, 1, rate)).result / alone);
    const { result, statuses } = await besideSearches(server, MANY, rate);
    many.push(result / alone);
    const found = statuses.get(200) ?? 0;
    refused.push(statuses.get(503) ?? 0);
    others.push([...statuses.values()].reduce((sum, count) => sum + count, 0) - found - (statuses.get(503) ?? 0));
    console.error(
      `creates, round ${round}/${rounds}: beside a search ${number(one.at(-1) ?? 0)}, beside ${MANY} ` +
        `${number(many.at(-1) ?? 0)}; these got ${[...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')}`,
    );
  }
  return [
    atLeast(0.7, 'creates beside a search, 64 connections: throughput ÷ alone', one),
    atLeast(0.7, `creates beside ${MANY} clients that search, 64 connections: throughput ÷ alone`, many),
    atLeast(1, 'the same: searches that are refused with 503, since four may run', refused),
    atMost(0, 'the same: searches that get neither 200 nor 503', others),
  ];
}

/** @returns what a search leaves of the plants a second that a webhook delivers once many have come at once */
async function deliveries(database: BenchDatabase, session: Session): Promise<number[]> {
  const receiver = await startReceiver(session);
  const announced = Math.min(ANNOUNCED, plants);
  const server = await startServer(
    { ...plantStore, environment: webhookEnvironment([receiver.url]) },
    database.url,
    session,
  );
  const held = () => database.query('select from webhooks where holder is not null');
  while ((await held()).length === 0) await sleep(50);

  let last = 0;
  async function rate(): Promise<number> {
    const end = receiver.count() + announced;
    await database.query(`insert into plants (id, name) select n, 'Plant' from generate_series($1::bigint, $2) as n`, [
      last + 1,
      last + announced,
    ]);
    last += announced;
    const start = performance.now();
    while (receiver.count() < end) await sleep(20);
    return announced / ((performance.now() - start) / 1_000);
  }
  await rate();
  return inRounds(rounds, 'deliveries beside a search', async () => {
    const alone = await rate();
    return (await besideSearches(server, 1, rate)).result / alone;
  });
}

/** How fast a stream looks at the names of a table that has millions more, and that has none of those it is to find. */
async function emptyStream(database: BenchDatabase, session: Session): Promise<Claim> {
  await addScatteredPlants(database, added);
  await database.query('vacuum analyze plants');
  const [row] = await database.query('select count(*) from plants');
  const server = await startServer(plantStore, database.url, session);
  const took = await stream(server, NOWHERE);
  return atLeast(100_000, `a stream of a word that is nowhere, ${number(added, 0)} plants more: names a second`, [
    Number(row?.count) / took,
  ]);
}
