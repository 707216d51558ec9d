import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { Session, Statements } from '../../sql/dialect.ts';
import type { Run } from '../../sql/run.ts';
import type { NamedQuery, PartResult } from '../../sql/statement.ts';
import { failureOf } from './failures.ts';

/** Milliseconds after which the event loop turns. */
const SLICE = 2;

/** A part ends after so many rows or milliseconds. That is checked before each row, which may have to be read from the disk. */
const PART = { rows: 500, time: 10 };

/** A transaction begins no statement after so many milliseconds, or after as long as the last commit took, if that is longer. */
const TRANSACTION = 4;

interface DriverOptions {
  /** Throws while the file must not be used. */
  readonly check?: () => void;
  /** Called after each transaction. */
  readonly onEnd?: () => void;
  /** Called when it is not known what is on the disk. From then on `check` must throw. */
  readonly onLostSync?: (error: unknown) => void;
}

const refuse = () => Promise.reject(new TypeError('Kysely only compiles statements here: give them to executeQuery'));

/** Compiles statements. */
const compiler = new Kysely<unknown>({
  dialect: {
    createDriver: () => Object.assign(new DummyDriver(), { acquireConnection: refuse }),
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (kysely) => new SqliteIntrospector(kysely),
  },
});

/**
 * Statements over node:sqlite, which prepares each once. Kysely only compiles them: its way to execute them would take a
 * fifth of the CPU of a create here. Statements and transactions run in the order in which they arrive. The event loop turns before
 * the first of them, and again once they have taken some milliseconds: otherwise synchronous statements behind `await` would
 * keep all sockets waiting.
 */
export function statementsOn(
  database: DatabaseSync,
  { check = () => {}, onEnd = () => {}, onLostSync = () => {} }: DriverOptions = {},
) {
  const prepared = new Map<string, StatementSync>();
  let last = Promise.resolve();
  let end = 0;
  let isChecked = false;
  let commitTime = 0;

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

  async function executeQuery<Row>({ sql, parameters, mayBeCut }: NamedQuery): Promise<PartResult<Row>> {
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
      // The statement is not used again: sqlite3_reset would report the same error once more.
      prepared.delete(sql);
      throw error;
    }
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(async () => {
      if (performance.now() >= end) {
        await new Promise(setImmediate);
        end = performance.now() + SLICE;
        isChecked = false;
      }
      return work();
    });
    const next = () => {};
    last = done.then(next, next);
    return done;
  }

  /** @param work is given when its statements should end, as performance.now() counts */
  async function transaction<T>(work: (end: number) => Promise<T>): Promise<T> {
    checkOnce();
    execute('begin immediate');
    try {
      const result = await work(performance.now() + Math.max(TRANSACTION, commitTime));
      const start = performance.now();
      execute('commit', [], (error) => !failureOf(error).isNotCommitted);
      commitTime = performance.now() - start;
      return result;
    } finally {
      // After some failures SQLite has done it itself.
      if (database.isTransaction) execute('rollback');
      onEnd();
      isChecked = false;
    }
  }

  const getExecutor = () => compiler.getExecutor();
  const sql: Statements = { getExecutor, executeQuery: (query) => inTurn(() => executeQuery(query)) };
  const within: Statements = { getExecutor, executeQuery };
  return {
    sql,
    /** Gives each piece of work that writes a transaction, which begins once the work has its turn. */
    withTransactions(run: Run): Run {
      return (lane, work, options) => {
        if (lane !== 'writes' && lane !== 'backgroundWrites') return run(lane, work, options);
        const inOne = (session: Session) => inTurn(() => transaction((end) => work({ ...session, sql: within, end })));
        return run(lane, inOne, options);
      };
    },
  };
}
