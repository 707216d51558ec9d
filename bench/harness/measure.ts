import { cpuTime, cpuTimeOfFamily, resetPeakMemory, residentMemory } from '../../tooling/linux-process.ts';
import type { Server } from '../../tooling/server-process.ts';
import type { BenchDatabase } from '../../tooling/session-database.ts';
import { type Load, runLoad } from './load.ts';

export const MIB = 1024 ** 2;

/** @returns a function that says how many seconds of CPU time the server and Postgres, if it has one, have used since */
export function cpuMeter({ pid }: { readonly pid: number }, database: BenchDatabase | undefined) {
  const now = () => ({ service: cpuTime(pid).own, postgres: database ? cpuTimeOfFamily(database.postmaster) : 0 });
  const start = now();
  return () => {
    const { service, postgres } = now();
    return { service: service - start.service, postgres: postgres - start.postgres };
  };
}

/** One run's figures. */
export interface Figures {
  readonly requestsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of CPU time for each request: of the server, of all of Postgres, of both. */
  readonly service: number;
  readonly postgres: number;
  readonly cpu: number;
  /** The most resident memory of the server in MiB. */
  readonly memory: number;
}

/**
 * Loads a server, and counts the rows that creates have made.
 *
 * @throws Error if requests failed, a plant is missing that was answered 200, or there are more than were ever sent
 */
export async function measure(server: Server, database: BenchDatabase, load: Load): Promise<Figures> {
  const { title, stores, url, pid } = server;
  const creates = stores && (load.request ?? 'create') === 'create';
  const before = creates ? await database.countSettledPlants() : 0;
  resetPeakMemory(pid);
  const used = cpuMeter(server, database);
  const { answers, failures, seconds, p50, p99 } = await runLoad(url, load);
  const { service, postgres } = used();
  if (failures > 0) throw new Error(`${failures} requests to ${title} failed`);
  if (creates) {
    // At once, since 200 means committed; and again for what was still in flight.
    for (const count of [database.countPlants, database.countSettledPlants]) {
      checkRows(title, (await count()) - before, answers, load.connections);
    }
  }
  const each = (seconds: number) => (seconds * 1e6) / answers;
  return {
    requestsPerSecond: answers / seconds,
    ...{ p50, p99, service: each(service), postgres: each(postgres), cpu: each(service + postgres) },
    memory: residentMemory(pid, 'peak') / MIB,
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

/** @returns the most MiB of resident memory until the work is done */
export async function peakDuring({ pid }: Server, work: Promise<unknown>): Promise<number> {
  let peak = 0;
  const sampling = setInterval(() => {
    peak = Math.max(peak, residentMemory(pid, 'now') / MIB);
  }, 50);
  await work.finally(() => clearInterval(sampling));
  return peak;
}
