import { sql } from 'kysely';
import type { ClientBase, ClientConfig, QueryConfig } from 'pg';
import type { Statements } from '../../sql/dialect.ts';
import { failureOf, SchemaError } from '../failures.ts';

/** The SQLSTATEs with which PgBouncer and RDS Proxy refuse start-up parameters, or report errors that name none. */
const REFUSALS = ['08P01', '0A000'];
const PARAMETER = /startup parameter|statement_timeout|lock_timeout/;

/** Whether a pooler refuses the limits: then those of the role apply. */
export function isRefusalOfLimits(error: unknown): boolean {
  return REFUSALS.includes(failureOf(error).state ?? '') && PARAMETER.test((error as Error).message);
}

/**
 * The limits that a connection sends as start-up parameters, in milliseconds; 0 for none. The server then cancels a statement
 * before its commit, never during it. A wait for a lock begins later than its statement: if both limits were equal, a locked
 * row would look like a slow statement, which is repeated with all that share it.
 */
export function startupLimits(statementTimeout: number): Pick<ClientConfig, 'statement_timeout' | 'lock_timeout'> {
  return { statement_timeout: statementTimeout, lock_timeout: Math.ceil(statementTimeout / 2) };
}

/** Whether a limit arrived at start-up: then there is no pooler, and what a session prepares or sets persists. */
const IS_DIRECT = `(select source = 'client' from pg_settings where name = 'statement_timeout')`;

/** The settings that sessions need, whatever those of the role, the database or the server. */
const SETTINGS = {
  // If this is off, a null in the text of an array is the text "null".
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  // If this is stricter, an INSERT fails where it should skip a row of another transaction.
  default_transaction_isolation: 'read committed',
  exit_on_error: 'off',
  // Without warnings, a commit that stopped waiting for the synchronous standby looks like any other.
  client_min_messages: 'notice',
  // For this setting and synchronous_commit, see docs/postgres.md.
  jit: 'off',
  // Postgres then refuses a statement from which a policy would hide rows (SQLSTATE 42501).
  row_security: 'off',
};

// A prepared plan is kept, and one that was made for a nearly empty table would later scan a full one. Migrations, which have
// no limits, prepare nothing, and have to scan whole tables.
const BEGIN = `select ${IS_DIRECT} as "isDirect",
  case when ${IS_DIRECT} then set_config('enable_seqscan', 'off', false) end,
  ${Object.entries(SETTINGS).map(([name, value]) => `set_config('${name}', '${value}', false)`)},
  case when current_setting('synchronous_commit') in ('off', 'local')
    then set_config('synchronous_commit', 'on', false) end`;

/**
 * Sets what a session needs.
 *
 * @param timeout milliseconds to wait for the response
 * @returns whether the session leads to the server without a pooler
 */
export async function beginSession(client: ClientBase, timeout: number): Promise<boolean> {
  // pg's types have no timeout for a single query.
  const query: QueryConfig & ClientConfig = { text: BEGIN, query_timeout: timeout };
  const { rows } = await client.query<{ isDirect: boolean }>(query);
  return rows[0]?.isDirect ?? false;
}

/**
 * Checks the settings that a pooler may keep from a session, since it may drop start-up parameters, and a SET applies to
 * whichever server connection received it. Then the settings of the role apply, or limits that are too long.
 *
 * @param statementTimeout milliseconds; the client waits twice as long
 * @returns a problem that only makes statements slow, and what to do; undefined if there is none
 * @throws SchemaError, saying what to do, if a setting is unsafe
 */
export async function requireSafeSettings(database: Statements, statementTimeout: number): Promise<string | undefined> {
  const { lock_timeout: lockTimeout } = startupLimits(statementTimeout);
  const isBounded = sql`setting::integer between 1 and ${sql.lit(2 * statementTimeout)}`;
  const { rows } = await sql<{ role: string; name: string; value: string; safe: string; isSafe: boolean }>`
    select quote_ident(current_user) as role, name, name = 'lock_timeout' and ${isBounded} as "isSafe",
      case unit when 'ms' then setting || ' ms' else reset_val end as value,
      case name when 'lock_timeout' then ${`'${lockTimeout}ms'`}
        when 'statement_timeout' then ${`'${statementTimeout}ms'`}
        when 'client_min_messages' then 'notice' else 'on' end as safe
    from pg_settings
    where case name
      when 'statement_timeout' then not ${isBounded}
      when 'lock_timeout' then not ${isBounded} or setting::integer > 0.75 * (
        select setting::integer from pg_settings where name = 'statement_timeout')
      else not ${sql.raw(IS_DIRECT)} and case reset_val
        when 'off' then name in ('array_nulls', 'standard_conforming_strings', 'synchronous_commit')
        when 'local' then name = 'synchronous_commit' and current_setting('synchronous_standby_names') <> ''
        when 'error' then name = 'client_min_messages'
      end
    end
    order by name
  `.execute(database);
  if (rows.length === 0) return undefined;
  const are = rows.map(({ name, value }) => `${name} is ${value}`).join(' and ');
  const statements = rows.map(({ role, name, safe }) => `ALTER ROLE ${role} SET ${name} = ${safe}`);
  const what = `${are} for this role through this pooler, so`;
  const remedy = `run ${statements.join(' and ')}, and let the pooler reconnect`;
  if (rows.every(({ isSafe }) => isSafe))
    return `${what} waiting for a locked row looks like a slow statement: ${remedy}`;
  throw new SchemaError(
    `${what} plants could be stored wrong, or get 200 and be lost, or a statement outlast its client: ${remedy}`,
  );
}
