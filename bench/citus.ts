import { citusDatabase } from '../tooling/citus-cluster.ts';
import { number } from '../tooling/markdown-table.ts';
import { plantStore, startServer } from '../tooling/server-process.ts';
import type { Session } from '../tooling/session.ts';
import { median } from '../tooling/statistics.ts';
import { type Load, runLoad } from './harness/load.ts';
import { fill } from './harness/plants.ts';
import { inRounds } from './harness/rounds.ts';
import { scenario } from './harness/scenario.ts';

/*
 * npm run bench -- citus [--plants 100000] [--rounds 5] [--seconds 4]
 *
 * What the number of shards costs on the Citus cluster at CITUS_URL: requests per second at 64
 * connections on a table with 8 shards and on one with 32, in turns; ratios are made within a round.
 */

const REQUESTS: readonly [what: string, request: NonNullable<Load['request']>][] = [
  ['create', 'create'],
  ['delete', 'delete'],
  ['one plant', 'plant'],
  ['a page of 100', 'page'],
];

await scenario('citus', { plants: 100_000, rounds: 5, seconds: 4 }, async (session, { plants, rounds, seconds }) => {
  const [few, many] = [await startOn(8, session), await startOn(32, session)];
  const rows: string[][] = [];
  for (const [what, request] of REQUESTS) {
    const rate = async ({ database, server }: typeof few) => {
      await fill(database, plants);
      const load = { request, plants, connections: 64, seconds, signal: session.signal };
      const { answers, failures, seconds: took } = await runLoad(server.url, load);
      if (failures > 0) throw new Error(`${what}: ${failures} requests failed`);
      return answers / took;
    };
    // For warming up.
    for (const table of [few, many]) await rate(table);
    const rates = await inRounds(rounds, what, async () => ({ few: await rate(few), many: await rate(many) }));
    const ratio = median(rates.few.map((perSecond, round) => perSecond / (rates.many[round] ?? Number.NaN)));
    rows.push([what, number(median(rates.few), 0), number(median(rates.many), 0), number(ratio)]);
  }
  return { tables: { shards: { head: ['requests per second', '8 shards', '32 shards', '8 shards ÷ 32'], rows } } };
});

async function startOn(shards: number, session: Session) {
  const database = await citusDatabase(shards);
  session.opened.defer(() => database.drop());
  return { database, server: await startServer(plantStore, database.url, session) };
}
