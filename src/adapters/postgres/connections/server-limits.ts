import type { ClientConfig } from 'pg';
import { sqlState } from '../errors.ts';

/** Milliseconds until a pooler is again asked for limits that it has refused. */
const ASK_AGAIN = 60_000;

/**
 * What poolers refuse a start-up parameter with: PgBouncer (unless ignore_startup_parameters names it) and RDS Proxy. They
 * have these for other errors, too, whose messages name no parameter.
 */
const REFUSALS = ['08P01', '0A000'];
const PARAMETER = /startup parameter|statement_timeout|lock_timeout/;

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
    /** If a pooler has refused them: leaves them out for a while, so that the role's own apply. @returns whether */
    omitIfRefused(error: unknown): boolean {
      const isRefusal = REFUSALS.includes(sqlState(error) ?? '') && PARAMETER.test((error as Error).message);
      if (!isRefusal || areOmitted()) return false;
      omitUntil = performance.now() + ASK_AGAIN;
      return true;
    },
  };
}
