import type { Logger } from 'pino';
import { singleFlight } from '../../runtime/single-flight.ts';
import type { SqlDatabase } from './dialect.ts';

/**
 * Creates the check that plants can be stored and read now, and would be durable. It rejects, saying what to do, if they
 * cannot. Otherwise it resolves to any other problem and what to do, or to undefined. Callers share a run, which may outlast
 * the wait of a caller.
 *
 * @param problemsNow rejects if plants cannot be stored
 * @param log gets each new problem once
 */
export function storeReadiness(
  problemsNow: () => Promise<readonly (string | undefined)[]>,
  withAdvice: SqlDatabase['withAdvice'],
  log: Pick<Logger, 'warn'>,
): () => Promise<string | undefined> {
  let lastLogged = '';
  return singleFlight(async () => {
    const problems = await problemsNow().catch((error) => {
      throw withAdvice(error);
    });
    const problem = problems.filter(Boolean).join('; ');
    // The same problem may have another duration or size at each check.
    const kind = problem.replace(/\d+/g, '');
    if (kind !== '' && kind !== lastLogged) log.warn({ problem }, 'ready, but something is wrong with the database');
    lastLogged = kind;
    return problem || undefined;
  });
}
