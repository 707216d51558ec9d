import { cpuTime, cpuTimeOfFamily, resetPeakMemory, residentMemory } from '../tooling/linux-process.ts';
import type { Server } from '../tooling/server-process.ts';
import type { BenchDatabase } from '../tooling/session-database.ts';
import { type Load, runLoad } from './load.ts';

/** One run's figures. */
export interface Figures {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of CPU time per request: of the server, of all of Postgres, of both, of the load generator. */
  readonly serverCpu: number;
  readonly postgresCpu: number;
  readonly cpu: number;
  readonly generatorCpu: number;
  /** The most resident memory of the server in MiB. */
  readonly memory: number;
  /** Answers of 200, other answers and failed connections, rows that came into the table. */
  readonly answers: number;
  readonly failures: number;
  readonly rows: number;
}

/**
 * Loads a server and counts what has become of it.
 *
 * @throws Error if a plant is missing that was answered 200, or there are more than were ever sent.
 */
export async function measure(
  { title, stores, url, pid }: Server,
  database: BenchDatabase,
  load: Load,
): Promise<Figures> {
  const creates = stores && (load.request ?? 'create') === 'create';
  const before = creates ? await database.countSettledPlants() : 0;
  resetPeakMemory(pid);
  const meter = () => ({
    server: cpuTime(pid).own,
    postgres: stores ? cpuTimeOfFamily(database.postmaster) : Number.NaN,
    generator: cpuTime(process.pid).endedChildren,
  });
  const start = meter();
  const { answers, failures, seconds: took, p50, p99 } = await runLoad(url, load);
  const end = meter();
  let rows = Number.NaN;
  if (creates) {
    // At once, since 200 means committed; and again for what was still in flight.
    for (const count of [database.countPlants, database.countSettledPlants]) {
      rows = (await count()) - before;
      checkRows(title, rows, answers, failures + load.connections);
    }
  }

  const perRequest = (from: number, to: number) => ((to - from) * 1e6) / (answers + failures);
  const serverCpu = perRequest(start.server, end.server);
  const postgresCpu = perRequest(start.postgres, end.postgres);
  return {
    requestsPerSecond: answers / took,
    p50,
    p99,
    serverCpu,
    postgresCpu,
    cpu: serverCpu + postgresCpu,
    generatorCpu: perRequest(start.generator, end.generator),
    memory: residentMemory(pid, 'peak') / 1024 ** 2,
    answers,
    failures,
    rows,
  };
}

/**
 * @param unanswered how many plants may have been stored without an answer of 200
 * @throws Error if there are fewer rows than answers of 200, or more than requests.
 */
export function checkRows(title: string, rows: number, answers: number, unanswered: number): void {
  if (rows < answers) throw new Error(`${title} LOST ${answers - rows} of the ${answers} plants it answered with 200`);
  if (rows > answers + unanswered) throw new Error(`${title} answered ${answers} plants with 200 but stored ${rows}`);
}
