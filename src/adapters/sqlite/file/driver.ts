import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { Kysely, SqliteDialect } from 'kysely';
import type { SqlDatabase, Statements } from '../../sql/dialect.ts';
import type { NamedQuery, PartResult } from '../../sql/statement.ts';
import { failureOf } from './failures.ts';

/** After this time the event loop turns. */
const SLICE_MS = 2;

/** Bounds of a part, which are checked before each row, since it may have to be read from the disk. */
const PART_ROWS_MAX = 500;
const PART_MS_MAX = 10;

/** A transaction begins no statement after this time, or after as long as the last commit took, if that is longer. */
const TRANSACTION_MS = 4;

interface DriverOptions {
  /** Throws while the file must not be used. Called before statements once the event loop has turned. */
  readonly check?: () => void;
  /** Called after each transaction. */
  readonly onTransaction?: () => void;
  /** Called when it is not known what is on the disk. From then on `check` must throw. */
  readonly onLostSync?: (error: unknown) => void;
}

const refuse = () => Promise.reject(new TypeError('Kysely only compiles statements here: give them to executeQuery'));

const compiler = new Kysely<unknown>({ dialect: new SqliteDialect({ database: refuse }) });

/**
 * Statements over node:sqlite, which prepares each once. Kysely only compiles them: its way to execute them would take a
 * fifth of the CPU of a create here. Statements and transactions run in the order in which they arrive. The event loop turns before
 * the first of them, and again once they have taken some milliseconds: otherwise synchronous statements behind `await` would
 * keep all sockets waiting.
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
      // The statement is not used again: sqlite3_reset would report the same error once more.
      statements.delete(sql);
      throw error;
    }
  }

  function inTurn<T>(work: () => Promise<T>, isTransaction = false): Promise<T> {
    const done = last.then(async () => {
      // All writes that have arrived in this turn of the event loop share the transaction.
      if (isTransaction || performance.now() >= sliceEnd) await new Promise(setImmediate);
      if (performance.now() >= sliceEnd) {
        check();
        sliceEnd = performance.now() + SLICE_MS;
      }
      return work();
    });
    const next = () => {};
    last = done.then(next, next);
    return done;
  }

  /** @param work is given when its statements should end, as performance.now() counts */
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
      // Before the next statement the file is checked.
      sliceEnd = 0;
      throw error;
    } finally {
      // After some failures SQLite has done it itself.
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
