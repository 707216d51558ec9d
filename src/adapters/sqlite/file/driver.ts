import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Tables } from '../../sql/dialect.ts';
import type { NamedQuery, PartResult } from '../../sql/statement.ts';

/** Milliseconds after which the event loop turns. */
const SLICE = 2;

/** Milliseconds after which a part ends before the next row, which may be still on the disk. */
const PART = 10;

/**
 * Kysely over node:sqlite, which prepares each statement once. Statements and transactions run in the order in which they
 * arrive. The event loop turns before the first of them, and again once they have taken some milliseconds: otherwise synchronous
 * statements behind `await` would keep all sockets waiting.
 *
 * @param check throws while the file must not be used
 */
export function kyselyOver(database: DatabaseSync, check = () => {}): Kysely<Tables> {
  const prepared = new Map<string, StatementSync>();
  let end = 0;
  let isChecked = false;

  function prepare(text: string): StatementSync {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement;
  }

  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters, mayBeCut }: NamedQuery): Promise<PartResult<Row>> {
      if (!isChecked) check();
      isChecked = true;
      const values = parameters as SQLInputValue[];
      if (!mayBeCut) return { rows: prepare(sql).all(...values) as Row[] };
      const until = performance.now() + PART;
      const rows: Row[] = [];
      try {
        for (const row of prepare(sql).iterate(...values)) {
          if (rows.length > 0 && performance.now() >= until) return { rows, isCut: true };
          rows.push(row as Row);
        }
        return { rows };
      } catch (error) {
        // It would say once more why the iteration has failed (sqlite3_reset).
        prepared.delete(sql);
        throw error;
      }
    },
    streamQuery() {
      throw new TypeError('no statement is streamed');
    },
  };
  const run = (text: string) => async () => void (await connection.executeQuery(CompiledQuery.raw(text)));
  return new Kysely({
    dialect: {
      createDriver: () => ({
        init: async () => {},
        // Kysely gives it to one after another (SqliteAdapter).
        async acquireConnection() {
          if (performance.now() >= end) {
            await new Promise(setImmediate);
            end = performance.now() + SLICE;
            isChecked = false;
          }
          return connection;
        },
        releaseConnection: async () => {},
        beginTransaction: run('begin immediate'),
        commitTransaction: run('commit'),
        rollbackTransaction: run('rollback'),
        destroy: async () => {},
      }),
      createAdapter: () => new SqliteAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    },
  });
}
