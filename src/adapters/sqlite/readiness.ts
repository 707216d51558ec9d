import type { Logger } from 'pino';
import { singleFlight } from '../../runtime/single-flight.ts';
import { endpointsProblem } from '../sql/webhooks/endpoints-problem.ts';
import type { OpenDatabase } from './file/database.ts';
import { inWords } from './file/failures.ts';

/** A WAL of this size shows a problem: a reader keeps its pages from being written into the file. */
const LARGE_WAL_BYTES = 256 * 1024 ** 2;

/** As `readiness` of Postgres. @param endpoints those of webhooks */
export function readiness(file: OpenDatabase, endpoints: readonly string[], log: Pick<Logger, 'warn'>) {
  let loggedProblem: string | undefined;

  async function problemsNow() {
    file.requireWritable();
    // Every write takes this path.
    await file.run('writes', async () => {});
    const wal = file.walSize();
    return [
      file.recentProblem(),
      wal >= LARGE_WAL_BYTES
        ? `the WAL has ${Math.round(wal / 1024 ** 2)} MB that a reader keeps from the file: end the backup or program that has it open`
        : undefined,
      await file.run('reads', (session) => endpointsProblem(session, endpoints)),
    ];
  }

  return singleFlight(async () => {
    const problems = await problemsNow().catch((error) => {
      throw new Error(inWords(error), { cause: error });
    });
    const problem = problems.filter((text) => text !== undefined).join('; ');
    if (problem !== '' && problem !== loggedProblem)
      log.warn({ problem }, 'ready, but something is wrong with the database');
    loggedProblem = problem;
    return problem || undefined;
  });
}
