import { sql } from 'kysely';
import type { ClientBase, ClientConfig, QueryConfig } from 'pg';
import type { Database } from '../database.ts';
import { failureOf, SchemaError } from '../failures.ts';

/** Milliseconds until a pooler is again asked for limits that it has refused. */
const ASK_AGAIN = 60_000;

/** What PgBouncer and RDS Proxy refuse a start-up parameter with, and other things, whose messages name no parameter. */
const REFUSALS = ['08P01', '0A000'];
const PARAMETER = /startup parameter|statement_timeout|lock_timeout/;

/**
 * The limit of waits for a lock beside that of statements, in milliseconds. A wait begins after its statement: if they
 * were equal, a locked row would pass for a slow statement, which is repeated with all that share it.
 */
function lockTimeout(statementTimeout: number): number {
  return Math.ceil(statementTimeout / 2);
}

/** Whether a start-up parameter has arrived: then there is no pooler, and what a session prepares or sets stays so. */
const IS_DIRECT = `(select source = 'client' from pg_settings where name = 'statement_timeout')`;

/**
 * For synchronous_commit and jit, see docs/postgres.md. With row_security off, Postgres refuses a statement from which a policy
 * would hide rows (SQLSTATE 42501).
 */
const BEGIN = `select pg_backend_pid() as backend, ${IS_DIRECT} as "isDirect", set_config('jit', 'off', false),
  set_config('row_security', 'off', false),
  case when current_setting('synchronous_commit') in ('off', 'local')
    then set_config('synchronous_commit', 'on', false) end`;

/** What a connection leads to. */
export interface Session {
  /** The process id of its backend, which behind PgBouncer may differ from statement to statement. */
  readonly backend: number;
  /** Whether it leads to the server without a pooler in between. */
  readonly isDirect: boolean;
}

/**
 * What bounds the statements of sessions, and what else each needs.
 *
 * @param statementTimeout milliseconds; 0 for no limits
 * @param connectTimeout milliseconds to wait for a response
 */
export function sessions(statementTimeout: number, connectTimeout: number) {
  let omitUntil = Number.NEGATIVE_INFINITY;
  const areOmitted = () => performance.now() < omitUntil;
  return {
    /** Sent as start-up parameters: the server cancels a statement before its commit, never during it. */
    limits(): ClientConfig {
      const limit = areOmitted() ? 0 : statementTimeout;
      return { statement_timeout: limit, lock_timeout: lockTimeout(limit) };
    },
    /** If a pooler has refused the limits: leaves them out for a while, so that the role's own apply. @returns whether */
    omitIfRefused(error: unknown): boolean {
      const isRefusal = REFUSALS.includes(failureOf(error).state ?? '') && PARAMETER.test((error as Error).message);
      if (!isRefusal || areOmitted()) return false;
      omitUntil = performance.now() + ASK_AGAIN;
      return true;
    },
    /** Sets what each session needs. */
    async begin(client: ClientBase): Promise<Session> {
      // pg's types have no timeout for a single query.
      const query: QueryConfig & ClientConfig = { text: BEGIN, query_timeout: connectTimeout };
      const { rows } = await client.query<Session>(query);
      return rows[0] as Session;
    },
    verify: (database: Database['sql']) => requireSafeSettings(database, statementTimeout),
  };
}

/**
 * Checks the settings that a pooler may keep from a session: it drops start-up parameters, and what a session sets stays
 * with whichever server connection it met. The role's own settings apply then, or limits that are too long.
 *
 * @param statementTimeout milliseconds; the client waits twice as long
 * @returns what is slow though safe, and what to do; undefined if nothing is
 * @throws SchemaError, saying what to do, if a setting is unsafe
 */
async function requireSafeSettings(database: Database['sql'], statementTimeout: number): Promise<string | undefined> {
  const isBounded = sql`setting::integer between 1 and ${sql.lit(2 * statementTimeout)}`;
  const { rows } = await sql<{ role: string; name: string; value: string; safe: string; isSafe: boolean }>`
    select quote_ident(current_user) as role, name, name = 'lock_timeout' and ${isBounded} as "isSafe",
      case name when 'synchronous_commit' then reset_val else setting || ' ms' end as value,
      case name when 'synchronous_commit' then 'on' when 'lock_timeout' then ${`'${lockTimeout(statementTimeout)}ms'`}
        else ${`'${statementTimeout}ms'`} end as safe
    from pg_settings
    where case name
      when 'statement_timeout' then not ${isBounded}
      when 'lock_timeout' then not ${isBounded} or setting::integer > 0.75 * (
        select setting::integer from pg_settings where name = 'statement_timeout')
      when 'synchronous_commit' then not ${sql.raw(IS_DIRECT)}
        and (reset_val = 'off' or reset_val = 'local' and current_setting('synchronous_standby_names') <> '')
    end
    order by name
  `.execute(database);
  if (rows.length === 0) return undefined;
  const are = rows.map(({ name, value }) => `${name} is ${value}`).join(' and ');
  const statements = rows.map(({ role, name, safe }) => `ALTER ROLE ${role} SET ${name} = ${safe}`);
  const what = `${are} for this role through this pooler, so`;
  const remedy = `run ${statements.join(' and ')}, and let the pooler reconnect`;
  if (rows.every(({ isSafe }) => isSafe)) return `${what} a locked row passes for a slow statement: ${remedy}`;
  throw new SchemaError(
    `${what} a statement could outlast its client, or a crash lose a plant that got 200: ${remedy}`,
  );
}
