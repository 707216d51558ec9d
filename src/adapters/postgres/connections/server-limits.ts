import { type Kysely, sql } from 'kysely';
import type { ClientConfig } from 'pg';
import type { Tables } from '../database.ts';
import { SchemaError, sqlState } from '../errors.ts';

/** Milliseconds until a server behind PgBouncer is again asked for limits that it has refused. */
const ASK_AGAIN = 60_000;

const PROTOCOL_VIOLATION = '08P01';

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
      return { statement_timeout: limit, lock_timeout: limit };
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

/**
 * Checks the limits that apply: a pooler may silently drop start-up parameters, and a role's own may be too long.
 *
 * @param statementTimeout milliseconds; the client waits twice as long
 * @throws SchemaError, saying what to do, if a limit is missing or longer than the client waits
 */
export async function requireServerLimits(database: Kysely<Tables>, statementTimeout: number): Promise<void> {
  const { rows } = await sql<{ role: string; name: string; milliseconds: number }>`
    select quote_ident(current_user) as role, name, setting::integer as milliseconds
    from pg_settings where name in ('statement_timeout', 'lock_timeout') order by name
  `.execute(database);
  const wrong = rows.filter(({ milliseconds }) => milliseconds === 0 || milliseconds > 2 * statementTimeout);
  if (wrong.length === 0) return;
  const are = wrong.map(({ name, milliseconds }) => `${name} is ${milliseconds} ms`).join(' and ');
  const statements = wrong.map(({ role, name }) => `ALTER ROLE ${role} SET ${name} = '${statementTimeout}ms'`);
  throw new SchemaError(
    `${are} for this role through this pooler, so a statement could outlast its client: ` +
      `run ${statements.join(' and ')}, and let the pooler reconnect`,
  );
}
