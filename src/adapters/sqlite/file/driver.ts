import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { Kysely, SqliteDialect } from 'kysely';
import type { SqlDatabase, Statements } from '../../sql/dialect.ts';
import type { NamedQuery, PartResult } from '../../sql/statement.ts';
import { failureOf } from './failures.ts';

/** Milliseconds after which statements pause for a turn of the event loop. */
const SLICE_MS_MAX = 2;

/** The bounds of a part. They are checked before each row, which may have to be read from the disk. */
const PART_ROWS_MAX = 500;
const PART_MS_MAX = 10;

/** A transaction should end after this time, or after the duration of the last commit if that was longer. */
const TRANSACTION_MS = 4;

interface DriverOptions {
  /** Throws while the file must not be used. Called before statements after each turn of the event loop. */
  readonly check?: () => void;
  /** Called after each transaction. */
  readonly onTransaction?: () => void;
  /** Called when it is unknown what is on the disk. From then on, `check` must throw. */
  readonly onLostSync?: (error: unknown) => void;
}

const refuse = () => Promise.reject(new TypeError('Kysely only compiles statements here: give them to executeQuery'));

const compiler = new Kysely<unknown>({ dialect: new SqliteDialect({ database: refuse }) });

/**
 * Statements over node:sqlite, which prepares each once. Kysely only compiles them: executing them with Kysely would take a
 * fifth of the CPU of a create. Statements and transactions run in the order in which they arrive. The event loop turns
 * before each transaction, and after every few milliseconds of statements: synchronous statements behind `await` would
 * otherwise block all sockets.
 */
export function statementsOn(
  database: DatabaseSync,
  { check = () => {}, onTransaction = () => {}, onLostSync = () => {} }: DriverOptions = {},
): Pick<SqlDatabase, 'sql' | 'transaction'> {
  const statements = new Map<string, StatementSync>();
  let last = Promise.resolve();
  let sliceEnd = 0;
  let commitTime = 0;

  function prepare(text: string): StatementSync {
    const statement = statements.get(text) ?? database.prepare(text);
    statements.set(text, statement);
    return statement;
  }

  async function executeQuery<Row>({ sql, parameters, mayBeCut }: NamedQuery): Promise<PartResult<Row>> {
    const values = parameters as SQLInputValue[];
    if (!mayBeCut) return { rows: prepare(sql).all(...values) as Row[] };
    const until = performance.now() + PART_MS_MAX;
    const rows: Row[] = [];
    try {
      for (const row of prepare(sql).iterate(...values)) {
        const isOver = rows.length >= PART_ROWS_MAX || (rows.length > 0 && performance.now() >= until);
        if (isOver) return { rows, isCut: true };
        rows.push(row as Row);
      }
      return { rows };
    } catch (error) {
      // The statement is not reused: sqlite3_reset would report the same error again.
      statements.delete(sql);
      throw error;
    }
  }

  function inTurn<T>(work: () => Promise<T>, isTransaction = false): Promise<T> {
    const outcome = last.then(async () => {
      // All writes that have arrived in this turn of the event loop share the transaction.
      if (isTransaction || performance.now() >= sliceEnd) await new Promise(setImmediate);
      if (performance.now() >= sliceEnd) {
        check();
        sliceEnd = performance.now() + SLICE_MS_MAX;
      }
      return work();
    });
    const next = () => {};
    last = outcome.then(next, next);
    return outcome;
  }

  /** @param work called with the time when its statements should end, as performance.now() counts */
  async function transaction<T>(work: (sql: Statements, end: number) => Promise<T>): Promise<T> {
    let commitStart: number | undefined;
    try {
      prepare('begin immediate').all();
      const result = await work(within, performance.now() + Math.max(TRANSACTION_MS, commitTime));
      commitStart = performance.now();
      prepare('commit').all();
      commitTime = performance.now() - commitStart;
      return result;
    } catch (error) {
      const { isLostSync, isNotCommitted } = failureOf(error);
      if (isLostSync || (commitStart !== undefined && !isNotCommitted)) onLostSync(error);
      // The next statement checks the file first.
      sliceEnd = 0;
      throw error;
    } finally {
      // After some failures SQLite has already rolled back.
      if (database.isTransaction) prepare('rollback').all();
      onTransaction();
    }
  }

  const getExecutor = () => compiler.getExecutor();
  const within: Statements = { getExecutor, executeQuery };
  return {
    sql: { getExecutor, executeQuery: (query) => inTurn(() => executeQuery(query)) },
    transaction: (work) => inTurn(() => transaction(work), true),
  };
}
