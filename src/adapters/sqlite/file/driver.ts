import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { type DatabaseConnection, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { Tables } from '../../sql/dialect.ts';
import type { Run } from '../../sql/run.ts';
import type { NamedQuery, PartResult } from '../../sql/statement.ts';
import { failureOf } from './failures.ts';

/** Milliseconds after which the event loop turns. */
const SLICE = 2;

/** Rows and milliseconds after which a part ends, before the next row: that may be still on the disk. */
const PART = { rows: 500, time: 10 };

/** Milliseconds after which a transaction has no more statements, unless the last commit took longer. */
const TRANSACTION = 4;

interface DriverOptions {
  /** Throws while the file must not be used. */
  readonly check?: () => void;
  /** Called after each transaction. */
  readonly onEnd?: () => void;
  /** Called when it is not known what is on the disk. From then on `check` must throw. */
  readonly onLostSync?: (error: unknown) => void;
}

/**
 * Kysely over node:sqlite, which prepares each statement once. Statements and transactions run in the order in which they
 * arrive. The event loop turns before the first of them, and again once they have taken some milliseconds: otherwise synchronous
 * statements behind `await` would keep all sockets waiting.
 */
export function kyselyOver(
  database: DatabaseSync,
  { check = () => {}, onEnd = () => {}, onLostSync = () => {} }: DriverOptions = {},
): Kysely<Tables> {
  const prepared = new Map<string, StatementSync>();
  let end = 0;
  let isChecked = false;

  function prepare(text: string): StatementSync {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement;
  }

  /** Before the statements of a turn, or of a transaction. */
  function checkOnce(): void {
    if (!isChecked) check();
    isChecked = true;
  }

  /** @param isLostBy whether it is not known what is on the disk after an error */
  function execute(
    text: string,
    parameters: readonly unknown[] = [],
    isLostBy = (error: unknown) => failureOf(error).isLostSync,
  ) {
    try {
      return prepare(text).all(...(parameters as SQLInputValue[]));
    } catch (error) {
      if (isLostBy(error)) onLostSync(error);
      throw error;
    }
  }

  function endTransaction(): void {
    onEnd();
    isChecked = false;
  }

  const connection: DatabaseConnection = {
    async executeQuery<Row>({ sql, parameters, mayBeCut }: NamedQuery): Promise<PartResult<Row>> {
      checkOnce();
      const values = parameters as SQLInputValue[];
      if (!mayBeCut) return { rows: execute(sql, values) as Row[] };
      const until = performance.now() + PART.time;
      const rows: Row[] = [];
      try {
        for (const row of prepare(sql).iterate(...values)) {
          const isOver = rows.length >= PART.rows || (rows.length > 0 && performance.now() >= until);
          if (isOver) return { rows, isCut: true };
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
        async beginTransaction() {
          checkOnce();
          execute('begin immediate');
        },
        async commitTransaction() {
          execute('commit', [], (error) => !failureOf(error).isNotCommitted);
          endTransaction();
        },
        async rollbackTransaction() {
          // After some failures SQLite has done it itself.
          if (database.isTransaction) execute('rollback');
          endTransaction();
        },
        destroy: async () => {},
      }),
      createAdapter: () => new SqliteAdapter(),
      createQueryCompiler: () => new SqliteQueryCompiler(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
    },
  });
}

/** Gives each piece of work that writes a transaction, which begins once the work has its turn. */
export function withTransactions(run: Run): Run {
  let commitTime = 0;
  return (lane, work, options) => {
    if (lane !== 'writes' && lane !== 'backgroundWrites') return run(lane, work, options);
    return run(
      lane,
      async (session) => {
        let end = 0;
        const result = await session.sql.transaction().execute(async (sql) => {
          const done = await work({ ...session, sql, end: performance.now() + Math.max(TRANSACTION, commitTime) });
          end = performance.now();
          return done;
        });
        commitTime = performance.now() - end;
        return result;
      },
      options,
    );
  };
}
