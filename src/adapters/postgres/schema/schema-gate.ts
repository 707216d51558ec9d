import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Dialect } from '../../sql/dialect.ts';
import type { Gate } from '../../sql/run.ts';
import type { Database } from '../database.ts';
import { SchemaError } from '../failures.ts';
import { repeatedCheck } from '../repeated-check.ts';
import { withAdvice } from './advice.ts';
import { migrationStatus } from './migration-status.ts';

/** @throws SchemaError, saying what to do, if the database cannot keep or show every plant that it confirms */
export async function requireSafeDatabase({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ encoding: string; isUnlogged: boolean; hidesRows: boolean }>`
    select current_setting('server_encoding') as encoding, relpersistence <> 'p' as "isUnlogged",
      row_security_active(oid) as "hidesRows"
    from (values (to_regclass('plants'))) as wanted (plants) left join pg_class on oid = plants
  `.execute(database);
  for (const { encoding, isUnlogged, hidesRows } of rows) {
    if (encoding !== 'UTF8') {
      throw new SchemaError(
        `the database's encoding is ${encoding}: create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0`,
      );
    }
    if (isUnlogged) {
      throw new SchemaError(
        'the table plants is UNLOGGED, so a crash of Postgres would empty it: run ALTER TABLE plants SET LOGGED as its owner',
      );
    }
    if (hidesRows) {
      throw new SchemaError(
        'row-level security applies to this role on the table plants and may refuse or hide plants: ' +
          'run ALTER TABLE plants DISABLE ROW LEVEL SECURITY as its owner, or ALTER ROLE ... BYPASSRLS',
      );
    }
  }
}

/** @throws Error, saying what to do, if the database is unsafe for plants or migrations are pending */
export async function requireMigrations(database: Database) {
  try {
    await requireSafeDatabase(database);
    const status = await migrationStatus(database);
    if (status.pending.length === 0) return status;
    throw new SchemaError(`migrations are pending (${status.pending.join(', ')}): run npm run migrate`);
  } catch (error) {
    throw withAdvice(error);
  }
}

/** Milliseconds for which a database counts as safe once it was, and has the same dialect. */
const SAFE_FOR = 1_000;

/**
 * Creates the check before every use of the schema: all migrations are applied, which it remembers, and the table keeps what
 * it is given, which it checks again while it is in use, since an operator or a restore can change that.
 */
export function migrationGate(database: Database, log: Logger): Gate {
  let dialect: Dialect | undefined;
  const migrated = repeatedCheck(async () => {
    const { unknown } = await requireMigrations(database);
    if (unknown.length > 0) log.warn({ migrations: unknown }, 'a newer version has migrated the database');
  });
  const safe = repeatedCheck(async () => {
    await requireSafeDatabase(database);
    dialect = await database.dialect();
  }, SAFE_FOR);
  const known = () => dialect ?? database.dialect();
  return () => (migrated()?.then(safe) ?? safe())?.then(known) ?? known();
}
