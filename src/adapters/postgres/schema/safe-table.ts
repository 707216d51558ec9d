import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';

/** @throws SchemaError, saying what to do, if a crash would empty the table, or rows are hidden from this role */
export async function requireSafeTable({ sql: database }: Database): Promise<void> {
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
