import { number } from '../tooling/markdown-table.ts';
import type { Server } from '../tooling/server-process.ts';
import { startAfresh } from '../tooling/session-database.ts';
import { median } from '../tooling/statistics.ts';
import { contenders } from './harness/contenders.ts';
import { runLoad } from './harness/load.ts';
import { type Figures, measure } from './harness/measure.ts';
import { atLeast, atMost, type Claim } from './harness/results.ts';
import { onDatabase, scenario } from './harness/scenario.ts';

/*
 * npm run bench -- creates [--connections 64] [--rounds 5] [--seconds 4] [--quiet]
 *
 * In each round every contender has its turn, at 1, 64 and 512 connections unless one number is given, started anew:
 * two processes of the same program can differ by a tenth, and no other runs beside it. Some 25 minutes. With --quiet, the
 * service and Fastify write no log.
 */

/** Until V8 has compiled what is hot; and before each run, since it compiles anew for another number of connections. */
const WARM_UP_REQUESTS = 50_000;
const LEAD_IN_REQUESTS = 10_000;

await scenario('creates', { connections: 0, rounds: 5, seconds: 4, quiet: false }, async (session, options) => {
  const { rounds, seconds } = options;
  const { signal } = session;
  const counts = options.connections === 0 ? [1, 64, 512] : [options.connections];
  const found = await contenders(session.folder);
  const silent = { logs: false, environment: { LOG_LEVEL: 'silent' } };
  const all = options.quiet ? found.map((contender) => ({ ...contender, ...silent })) : found;
  const { database, start } = await onDatabase(session);
  const warmUp = async ({ url }: Server, connections: number, requests: number) => {
    for (let sent = 0; sent < requests; ) sent += (await runLoad(url, { connections, seconds: 2, signal })).answers;
  };

  /** By the title and the number of connections, the figures of each round. */
  const runs = new Map<string, Figures[]>();
  const of = (title: string, connections: number) => runs.get(`${title} ${connections}`) ?? [];
  for (let round = 1; round <= rounds; round++) {
    for (const program of all) {
      const server = await start(program);
      await warmUp(server, 64, WARM_UP_REQUESTS);
      for (const connections of counts) {
        await warmUp(server, connections, LEAD_IN_REQUESTS);
        await database.countSettledPlants();
        await startAfresh(database);
        const figures = await measure(server, database, { connections, seconds, signal });
        runs.set(`${program.title} ${connections}`, [...of(program.title, connections), figures]);
        const rate = number(figures.requestsPerSecond, 0);
        console.error(`round ${round}/${rounds}, ${connections} connections: ${program.title} ${rate}/s`);
      }
      await server.stop();
    }
  }

  /** The service's figure ÷ another's, in each round. */
  const ratios = (figure: keyof Figures, title: string, connections: number) => {
    const theirs = of(title, connections);
    return of('Plant Store', connections).map((ours, round) => ours[figure] / (theirs[round]?.[figure] ?? Number.NaN));
  };
  const table = (connections: number) => ({
    head: [
      connections === 1 ? '1 connection' : `${connections} connections`,
      ...['commits', 'logs', 'creates/s', 'p50 ms', 'p99 ms', 'CPU µs: service', 'Postgres', 'memory MiB'],
      ...['Plant Store ÷ it: CPU', 'creates/s', 'p50', 'p99', 'memory'],
    ],
    rows: all.map(({ title, commits, logs, stores }) => {
      const middle = (figure: keyof Figures) => median(of(title, connections).map((figures) => figures[figure]));
      const ratio = (figure: keyof Figures) => number(median(ratios(figure, title, connections)));
      return [
        ...[title, commits, logs ? 'yes' : 'no', number(middle('requestsPerSecond'), 0)],
        ...[number(middle('p50')), number(middle('p99')), number(middle('service'), 0)],
        ...[stores ? number(middle('postgres'), 0) : '–', number(middle('memory'), 0)],
        ...[ratio('cpu'), ratio('requestsPerSecond'), ratio('p50'), ratio('p99'), ratio('memory')],
      ];
    }),
  });
  const claims: Claim[] = [
    atMost(0.33, '64 connections: CPU of service and Postgres ÷ Fastify + pg', ratios('cpu', 'Fastify + pg', 64)),
    atMost(2, '64 connections: CPU of the service alone ÷ bare node:http', ratios('service', 'bare node:http', 64)),
    atLeast(2.2, '64 connections: throughput ÷ Fastify + pg', ratios('requestsPerSecond', 'Fastify + pg', 64)),
    atMost(1, '512 connections: p99 ÷ Fastify + pg', ratios('p99', 'Fastify + pg', 512)),
    atMost(1.15, '1 connection: p50 ÷ Fastify + pg', ratios('p50', 'Fastify + pg', 1)),
    atMost(2, '1 connection: p99 ÷ Fastify + pg', ratios('p99', 'Fastify + pg', 1)),
  ].filter(({ measured }) => !Number.isNaN(measured));
  return { database, claims, tables: Object.fromEntries(counts.map((count) => [count, table(count)])) };
});
