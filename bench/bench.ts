import { parseArgs } from 'node:util';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { writeChart } from './chart.ts';
import { circumstances } from './circumstances.ts';
import { checkClaims } from './claims.ts';
import { type ContenderKey, cannedAnswer, contenders } from './contenders.ts';
import { writeFigures } from './figures.ts';
import { builtGo } from './go-program.ts';
import { runLoad } from './load.ts';
import { measure } from './measure.ts';
import { writeJson } from './output.ts';
import type { Run } from './runs.ts';
import { summarize } from './summary.ts';
import { claimTable, resultTables } from './tables.ts';

/*
 * npm run bench [-- --quick] [--connections 1,64] [--rounds 5] [--seconds 4]
 *
 * In each round every contender has its turn at each number of connections, so that what else the machine does meets
 * all alike. Figures are medians over the rounds; ratios are made within a round.
 */

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    connections: { type: 'string' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
  },
});
const connectionCounts = (values.connections ?? (values.quick ? '64' : '1,8,64,512'))
  .split(',')
  .map((count) => positive(count, 64));
const rounds = positive(values.rounds, values.quick ? 3 : 5);
const seconds = positive(values.seconds, values.quick ? 3 : 4);

/** So many until V8 has compiled what is hot: CPU time per request falls to a third on the way. */
const WARM_UP_REQUESTS = values.quick ? 20_000 : 100_000;
/**
 * Before each measured run, since a server that has waited long for its turn connects to Postgres anew, and V8 compiles
 * again what it has optimized for another number of connections: single requests wait 20 ms for that.
 */
const LEAD_IN_SECONDS = 2;

await session(async (session) => {
  const { folder, signal } = session;
  const go = await builtGo(contenders.go, folder);
  const database = await createDatabase(await findPostgres(session), session);
  const start = async (key: ContenderKey) => {
    const program = key === 'go' ? go : contenders[key];
    return program === undefined ? [] : [{ key, ...(await startServer(program, database.url, session)) }];
  };
  const servers = (await Promise.all((Object.keys(contenders) as ContenderKey[]).map(start))).flat();
  const canned = await startServer(cannedAnswer, database.url, session);
  for (const { url } of [...servers, canned]) {
    for (let sent = 0; sent < WARM_UP_REQUESTS; ) {
      sent += (await runLoad(url, { connections: 64, seconds: 2, signal })).answers;
    }
  }

  const ceilings: { connections: number; requestsPerSecond: number; generatorCpu: number }[] = [];
  for (const connections of connectionCounts) {
    const { requestsPerSecond, generatorCpu } = await measure(canned, database, { connections, seconds, signal });
    ceilings.push({ connections, requestsPerSecond, generatorCpu });
  }

  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const connections of connectionCounts) {
      for (const { key, ...server } of servers) {
        await runLoad(server.url, { connections, seconds: LEAD_IN_SECONDS, signal });
        await database.countSettledPlants();
        await startAfresh(database);
        const figures = await measure(server, database, { connections, seconds, signal });
        runs.push({ round, connections, contender: key, ...figures });
        const rate = number(figures.requestsPerSecond, 0);
        console.error(`round ${round}/${rounds}, ${connections} connections: ${server.title} ${rate}/s`);
      }
    }
  }

  const summary = summarize(runs);
  const claims = checkClaims(runs);
  const { machine, versions, ...where } = await circumstances(database);
  const failures = runs.reduce((sum, run) => sum + run.failures, 0);
  console.log(`\n${resultTables(summary)}\n\n${claimTable(claims)}\n`);
  for (const { connections, requestsPerSecond } of ceilings) {
    console.log(`${versions.generator} itself reaches ${number(requestsPerSecond, 0)}/s on ${connections} connections`);
  }
  console.log(`every answer of 200 was found in the table; ${failures} requests failed`);
  if (failures > 0) process.exitCode = 1;
  // The published figures are those of a full bench.
  if (values.quick) return;
  writeJson('results.json', {
    ...where,
    machine,
    versions,
    settings: { connectionCounts, rounds, seconds },
    claims,
    generatorCeilings: ceilings,
    summary,
    runs,
  });
  writeFigures();
  writeChart();
});
