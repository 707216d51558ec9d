import { CompiledQuery, sql } from 'kysely';
import { PlantStoreError } from '../../domain/errors.ts';
import { withAdvice } from './advice.ts';
import { requireChangeFeed } from './change-feed-check.ts';
import { distribution, type IsDistributed, nodesCheck } from './citus.ts';
import type { Database } from './database.ts';
import { SchemaError, sqlState, UNDEFINED_TABLE } from './errors.ts';
import { requireMigrations } from './schema-gate.ts';

/**
 * Creates the check that plants can be stored and read now and would be durable. It resolves to what does not work even
 * so, and what to do, or to undefined if everything works. It rejects, saying what to do, if they cannot.
 */
export function readiness(database: Database): () => Promise<string | undefined> {
  const isDistributed = distribution(database);
  const nodesProblem = nodesCheck(database, isDistributed);
  return async () => {
    await requireMigrations(database);
    try {
      await database.verify?.();
      await requireSafeTable(database);
      await database.sql.executeQuery(CompiledQuery.raw(INSERT_NOTHING));
      return (
        (await missingPrivileges(database)) ?? (await nodesProblem()) ?? (await feedProblem(database, isDistributed))
      );
    } catch (error) {
      throw withAdvice(error);
    }
  };
}

/** A version without changes and deletions needed fewer, and its role can still create and read. */
async function missingPrivileges({ sql: database }: Database): Promise<string | undefined> {
  const { rows } = await sql<{ canUpdate: boolean; canFollow: boolean }>`
    select has_table_privilege('plants', 'update') as "canUpdate",
      coalesce(has_table_privilege(to_regclass('change_feed'), 'select'), true) as "canFollow"
  `.execute(database);
  const missing = rows.flatMap(({ canUpdate, canFollow }) => [
    ...(canUpdate ? [] : ['UPDATE on plants, to change and delete']),
    ...(canFollow ? [] : ['SELECT on change_feed, for /changes']),
  ]);
  return missing.length > 0 ? `the role lacks ${missing.join(', and ')}: run GRANT as the owner` : undefined;
}

/** Why there is no feed of changes, if there is none. */
async function feedProblem(database: Database, isDistributed: IsDistributed): Promise<string | undefined> {
  return requireChangeFeed(database, isDistributed).then(
    () => undefined,
    (error) => {
      if (error instanceof PlantStoreError || error instanceof SchemaError) return error.message;
      if (sqlState(error) === UNDEFINED_TABLE) return 'the table change_feed is missing: run npm run migrate';
      throw error;
    },
  );
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
