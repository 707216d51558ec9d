import { parseArgs } from 'node:util';
import { number } from '../tooling/markdown-table.ts';
import { positive } from '../tooling/options.ts';
import { type ServerProgram, startServer } from '../tooling/server-process.ts';
import { session } from '../tooling/session.ts';
import { createDatabase, findPostgres, startAfresh } from '../tooling/session-database.ts';
import { writeChart } from './chart.ts';
import { circumstances } from './circumstances.ts';
import { checkClaims } from './claims.ts';
import { type ContenderKey, cannedAnswer, contenders } from './contenders.ts';
import { builtGo } from './go-program.ts';
import { runLoad } from './load.ts';
import { type Figures, measure } from './measure.ts';
import { publish } from './output.ts';
import type { Run } from './runs.ts';
import { summarize } from './summary.ts';
import { claimTable, resultTables } from './tables.ts';

/*
 * npm run bench -- creates [--quick] [--connections 1,64] [--rounds 5] [--seconds 4]
 *
 * In each round every contender has its turn, so that other load on the machine affects all alike. For each turn it is
 * started anew, since two processes of the same program can differ by a tenth. Figures are medians over the rounds;
 * ratios are made within a round.
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
const WARM_UP_REQUESTS = 50_000;
/** Before each measured run, since V8 compiles again what it has optimized for another number of connections. */
const LEAD_IN_REQUESTS = 10_000;

await session(async (session) => {
  const { folder, signal } = session;
  const go = await builtGo(contenders.go, folder);
  const programs = Object.entries({ ...contenders, go }) as [ContenderKey, ServerProgram | undefined][];
  const database = await createDatabase(await findPostgres(session), session);

  /** Measures a program at each number of connections, in a process of its own beside which no other runs. */
  async function measureAlone(program: ServerProgram, report: (connections: number, figures: Figures) => void) {
    const server = await startServer(program, database.url, session);
    const warmUp = async (connections: number, requests: number) => {
      for (let sent = 0; sent < requests; ) {
        sent += (await runLoad(server.url, { connections, seconds: 2, signal })).answers;
      }
    };
    await warmUp(64, WARM_UP_REQUESTS);
    for (const connections of connectionCounts) {
      await warmUp(connections, LEAD_IN_REQUESTS);
      await database.countSettledPlants();
      await startAfresh(database);
      report(connections, await measure(server, database, { connections, seconds, signal }));
    }
    await server.stop();
  }

  const ceilings: { connections: number; requestsPerSecond: number; generatorCpu: number }[] = [];
  await measureAlone(cannedAnswer, (connections, { requestsPerSecond, generatorCpu }) => {
    ceilings.push({ connections, requestsPerSecond, generatorCpu });
  });
  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const [contender, program] of programs) {
      if (program === undefined) continue;
      await measureAlone(program, (connections, figures) => {
        runs.push({ round, connections, contender, ...figures });
        const rate = number(figures.requestsPerSecond, 0);
        console.error(`round ${round}/${rounds}, ${connections} connections: ${program.title} ${rate}/s`);
      });
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
  publish('results.json', {
    ...where,
    machine,
    versions,
    settings: { connectionCounts, rounds, seconds },
    claims,
    generatorCeilings: ceilings,
    summary,
    runs,
  });
  writeChart();
});
