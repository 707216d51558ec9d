import { CompiledQuery, sql } from 'kysely';
import { withAdvice } from './advice.ts';
import type { Database } from './database.ts';
import { SchemaError } from './errors.ts';
import { requireMigrations } from './schema-gate.ts';

/** Checks that plants can be stored now and would be durable. @throws Error, saying what to do, if not */
export async function requireReady(database: Database): Promise<void> {
  await requireMigrations(database);
  try {
    await database.verify?.();
    await requireSafeTable(database);
    await database.sql.executeQuery(CompiledQuery.raw(INSERT_NOTHING));
  } catch (error) {
    throw withAdvice(error);
  }
}

/**
 * Inserts nothing, yet fails where an insert would and a read would not: on a standby, on a demoted primary (whose
 * connection is then dropped), without the INSERT privilege, while the table is locked, or if it is a different table.
 * The largest id only fits a bigint column.
 */
const INSERT_NOTHING = `insert into plants (id, name, tag)
  select ${2n ** 63n - 1n}, ''::text, null::text where false on conflict (id) do nothing`;

/** Detects what the insert does not: a table that a crash would empty, and rows that this role may not see or add. */
async function requireSafeTable({ sql: database }: Database): Promise<void> {
  const { rows } = await sql<{ isUnlogged: boolean; hidesRows: boolean }>`
    select relpersistence <> 'p' as "isUnlogged", row_security_active(oid) as "hidesRows"
    from pg_class where oid = to_regclass('plants')
  `.execute(database);
  for (const { isUnlogged, hidesRows } of rows) {
    if (isUnlogged) {
      throw new SchemaError('a crash would empty the table plants: run ALTER TABLE plants SET LOGGED as its owner');
    }
    if (hidesRows) {
      throw new SchemaError(
        'row-level security applies to this role on the table plants and may refuse or hide plants: ' +
          'run ALTER TABLE plants DISABLE ROW LEVEL SECURITY as its owner, or ALTER ROLE ... BYPASSRLS',
      );
    }
  }
}
