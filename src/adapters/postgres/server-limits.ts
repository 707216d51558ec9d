import { type Kysely, sql } from 'kysely';
import type { Tables } from './database.ts';
import { SchemaError } from './errors.ts';

/**
 * Checks the server's limits: a pooler may silently drop start-up parameters, and a role's own limits may be too long.
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
