import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import { singleFlight } from '../../../runtime/single-flight.ts';
import type { Dialect, Session } from '../../sql/dialect.ts';
import type { Gate } from '../../sql/run.ts';
import { citus } from '../citus.ts';
import type { Database } from '../connections/pool.ts';
import { postgres } from '../dialect.ts';
import { SchemaError } from '../failures.ts';
import { type MigrationStatus, migrationStatus } from './migration-status.ts';

/** @throws SchemaError, saying what to do, if the database cannot keep or show every plant that it confirms */
export async function requireSafeDatabase({ sql: database }: Database): Promise<void> {
  const encoding = sql`current_setting('server_encoding')`;
  const { rows } = await sql<{ problem: string | null }>`
    select case
      when ${encoding} <> 'UTF8' then 'the database''s encoding is ' || ${encoding}
        || ': create one with CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0'
      when relpersistence <> 'p' then 'the table plants is UNLOGGED, so a crash of Postgres would empty it: '
        'run ALTER TABLE plants SET LOGGED as its owner'
      when row_security_active(oid) then 'row-level security applies to this role on the table plants and may refuse or hide '
        'plants: run ALTER TABLE plants DISABLE ROW LEVEL SECURITY as its owner, or ALTER ROLE ... BYPASSRLS'
    end as problem
    from (values (to_regclass('plants'))) as name (plants) left join pg_class on oid = plants
  `.execute(database);
  const problem = rows[0]?.problem;
  if (problem) throw new SchemaError(problem);
}

/** @throws SchemaError if the database is unsafe for plants or migrations are pending */
export async function requireMigrations(database: Database): Promise<MigrationStatus> {
  await requireSafeDatabase(database);
  const status = await migrationStatus(database);
  if (status.pending.length === 0) return status;
  throw new SchemaError(`migrations are pending (${status.pending.join(', ')}): run npm run migrate`);
}

/** Determines the current dialect of a database: Citus may distribute a table while the service runs. */
export async function dialectOf({ sql: database }: Database): Promise<Dialect> {
  const isTrue = async (condition: RawBuilder<unknown>) =>
    (await sql`select where ${condition}`.execute(database)).rows.length > 0;
  const isDistributed =
    (await isTrue(sql`to_regclass('pg_catalog.pg_dist_partition') is not null`)) &&
    (await isTrue(sql`'plants'::regclass in (select logicalrelid from pg_catalog.pg_dist_partition)`));
  return isDistributed ? citus : postgres;
}

/** Opens a session for statements outside requests. */
export async function sessionOn(database: Database): Promise<Session> {
  return { sql: database.sql, dialect: await dialectOf(database) };
}

/** Milliseconds between two checks. If twice as many have passed, as after a pause, requests wait for the next check. */
const CHECK_INTERVAL_MS = 1_000;

/**
 * Creates the check before every use of the schema: all migrations are applied, and the table keeps what it is given. The
 * check is repeated during use, since an operator or a restore can change that. Once it has passed, a check that cannot be
 * made is ignored.
 */
export function migrationGate(database: Database, log: Pick<Logger, 'warn'>): Gate {
  /** The dialect that the last check found; undefined if it found a problem. */
  let dialect: Dialect | undefined;
  let checkedAt = 0;

  const check = singleFlight(async () => {
    try {
      const { unknown } = await requireMigrations(database);
      const isNewer = unknown.length > 0 && dialect === undefined;
      if (isNewer) log.warn({ migrations: unknown }, 'a newer version has migrated the database');
      dialect = await dialectOf(database);
    } catch (error) {
      if (error instanceof SchemaError) dialect = undefined;
      if (dialect === undefined) throw error;
    } finally {
      checkedAt = performance.now();
    }
    return dialect;
  });

  return () => {
    const age = performance.now() - checkedAt;
    if (dialect === undefined || age > 2 * CHECK_INTERVAL_MS) return check();
    if (age > CHECK_INTERVAL_MS) check().catch(() => {});
    return dialect;
  };
}
