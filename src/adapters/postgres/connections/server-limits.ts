import type { ClientConfig } from 'pg';
import { sqlState } from '../errors.ts';

/** Milliseconds until a server behind PgBouncer is again asked for limits that it has refused. */
const ASK_AGAIN = 60_000;

const PROTOCOL_VIOLATION = '08P01';

/**
 * The limit of waits for a lock beside that of statements, in milliseconds. A wait begins after its statement: if they
 * were equal, a locked row would pass for a slow statement, which is repeated with all that share it.
 */
export function lockTimeout(statementTimeout: number): number {
  return Math.ceil(statementTimeout / 2);
}

/**
 * What bounds statements, and their waits for a lock, on the server's side.
 *
 * @param statementTimeout milliseconds; 0 for no limits
 */
export function serverLimits(statementTimeout: number) {
  let omitUntil = Number.NEGATIVE_INFINITY;
  const areOmitted = () => performance.now() < omitUntil;
  return {
    /** Sent as start-up parameters: the server cancels a statement before its commit, never during it. */
    config(): ClientConfig {
      const limit = areOmitted() ? 0 : statementTimeout;
      return { statement_timeout: limit, lock_timeout: lockTimeout(limit) };
    },
    /** If PgBouncer has refused them: leaves them out for a while, so that the role's own apply. @returns whether */
    omitIfRefused(error: unknown): boolean {
      // PgBouncer has this SQLSTATE for other errors, too. It refuses what ignore_startup_parameters does not name.
      const isRefusal =
        sqlState(error) === PROTOCOL_VIOLATION && (error as Error).message.includes('startup parameter');
      if (!isRefusal || areOmitted()) return false;
      omitUntil = performance.now() + ASK_AGAIN;
      return true;
    },
  };
}
