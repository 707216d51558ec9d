import { type Kysely, sql } from 'kysely';
import type { ClientBase, ClientConfig, QueryConfig } from 'pg';
import type { Tables } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { lockTimeout } from './server-limits.ts';

/**
 * A role without synchronous commits would let a crash take plants that got 200, and so would `local` where there is a
 * synchronous standby. Other values are the operator's choice.
 *
 * With row_security off, Postgres refuses a statement from which a policy would hide rows (SQLSTATE 42501).
 *
 * JIT compilation does not pay for statements as short as these, but on large tables the planner would choose it: it takes
 * a limit that it does not know for a tenth of the rows. Behind PgBouncer, the role's own settings apply (docs/postgres.md).
 */
const BEGIN = `select pg_backend_pid() as backend,
  (select source = 'client' from pg_settings where name = 'statement_timeout') as "isDirect", set_config('jit', 'off', false),
  set_config('row_security', 'off', false),
  case when current_setting('synchronous_commit') in ('off', 'local')
    then set_config('synchronous_commit', 'on', false) end`;

/** What a connection leads to. */
export interface Session {
  /** The process id of its backend, which behind PgBouncer may differ from statement to statement. */
  readonly backend: number;
  /** Whether a start-up parameter has arrived: then there is no pooler, and a statement that is prepared stays so. */
  readonly isDirect: boolean;
}

/** Sets what each session needs. @param timeout milliseconds to wait for the response */
export async function beginSession(client: ClientBase, timeout: number): Promise<Session> {
  // pg's types have no timeout for a single query.
  const query: QueryConfig & ClientConfig = { text: BEGIN, query_timeout: timeout };
  const { rows } = await client.query<Session>(query);
  return rows[0] as Session;
}

/**
 * Checks the settings that a pooler may keep from a session: it drops start-up parameters, and what a session sets stays
 * with whichever server connection it met. The role's own settings apply then, or limits that are too long.
 *
 * @param statementTimeout milliseconds; the client waits twice as long
 * @returns what is slow though safe, and what to do; undefined if nothing is
 * @throws SchemaError, saying what to do, if a setting is unsafe
 */
export async function requireSafeSettings(
  database: Kysely<Tables>,
  statementTimeout: number,
): Promise<string | undefined> {
  const isBounded = sql`setting::integer between 1 and ${sql.lit(2 * statementTimeout)}`;
  // If the start-up parameter has arrived, there is no pooler, and what this session has set stays.
  const { rows } = await sql<{ role: string; name: string; value: string; safe: string; isSafe: boolean }>`
    select quote_ident(current_user) as role, name, name = 'lock_timeout' and ${isBounded} as "isSafe",
      case name when 'synchronous_commit' then reset_val else setting || ' ms' end as value,
      case name when 'synchronous_commit' then 'on' when 'lock_timeout' then ${`'${lockTimeout(statementTimeout)}ms'`}
        else ${`'${statementTimeout}ms'`} end as safe
    from pg_settings
    where case
      when name = 'statement_timeout' then not ${isBounded}
      when name = 'lock_timeout' then not ${isBounded} or setting::integer > 0.75 * (
        select setting::integer from pg_settings where name = 'statement_timeout')
      when name = 'synchronous_commit' then
        (reset_val = 'off' or reset_val = 'local' and current_setting('synchronous_standby_names') <> '')
        and not exists (select from pg_settings where name = 'statement_timeout' and source = 'client')
    end
    order by name
  `.execute(database);
  if (rows.length === 0) return undefined;
  const are = rows.map(({ name, value }) => `${name} is ${value}`).join(' and ');
  const statements = rows.map(({ role, name, safe }) => `ALTER ROLE ${role} SET ${name} = ${safe}`);
  const remedy = `run ${statements.join(' and ')}, and let the pooler reconnect`;
  if (rows.every(({ isSafe }) => isSafe)) {
    return `${are} for this role through this pooler, so a locked row passes for a slow statement: ${remedy}`;
  }
  throw new SchemaError(
    `${are} for this role through this pooler, so a statement could outlast its client, or a crash lose a plant that ` +
      `got 200: ${remedy}`,
  );
}
