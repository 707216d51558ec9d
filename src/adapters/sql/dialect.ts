import type { CompiledQuery, QueryExecutorProvider, QueryResult, RawBuilder } from 'kysely';
import type { LogEnd } from '../../application/changes/ports.ts';
import { PlantStoreError } from '../../domain/errors.ts';
import type { NewPlant } from '../../domain/plant.ts';
import type { PlantRow, RowChange } from './plant-rows.ts';

/**
 * What databases say in different words, as fragments of the statements in this folder, which are written once. There are
 * three: of Postgres, of SQLite, and of a Postgres whose table is distributed over several servers. Where one needs another
 * plan, a fragment has it, and a test by EXPLAIN says why.
 */
export interface Dialect {
  /** Whether a column of integers has one of a list: a parameter with the text of a JSON array. */
  readonly isOneOf: (column: RawBuilder<unknown>, list: RawBuilder<unknown>) => RawBuilder<boolean>;
  /** A condition that fails where what is read may be stale. Evaluated once in a statement, even without a row. */
  readonly isCurrent: RawBuilder<boolean>;
  /** Hides a limit from the planner, which would sort many rows to return a few where its statistics are wrong. */
  readonly hideLimit: (count: RawBuilder<unknown>) => RawBuilder<unknown>;
  /** The tag as its index has it, in the order of its UTF-8. */
  readonly tagKey: RawBuilder<unknown>;
  /** Whether a plant has a tag, and an id in a range. */
  readonly hasTag: (
    tag: RawBuilder<unknown>,
    low: RawBuilder<unknown>,
    high: RawBuilder<unknown>,
  ) => RawBuilder<boolean>;
  /**
   * The rows of a subquery for each item of a list, numbered from 1 by `number`. The subquery refers to the item as
   * `item.value`, which is JSON. Undefined where a statement for each item takes no longer.
   */
  readonly forEach?: ((list: RawBuilder<unknown>, rows: RawBuilder<unknown>) => RawBuilder<unknown>) | undefined;
  /** Whether a recursive query may read the plants, as the list of tags does. */
  readonly canRecurse: boolean;
  /** Whether a name has a text, letters in either case. */
  readonly contains: (name: RawBuilder<unknown>, text: RawBuilder<unknown>) => RawBuilder<boolean>;
  /** The most rows that a statement scans; a tenth of them if it compares their names. */
  readonly scannedRowsMax: number;
  /** The items of a list, a parameter with the text of a JSON array, as rows with the column `value`. */
  readonly items: (list: RawBuilder<unknown>) => RawBuilder<unknown>;
  /** The columns that an INSERT needs for the number of its change, beside the default, and `changed` in an UPDATE. */
  readonly inserted: Columns;
  readonly changedByUpdate: RawBuilder<unknown>;
  /** At the end of a SELECT of rows that are to be updated: locks them, and leaves out those that others have locked. */
  readonly lock: (table: 'plants' | 'webhooks') => RawBuilder<unknown>;
  /** A column of a SELECT that makes its response wait until what it has read is on a synchronous standby, too. */
  readonly awaitStandby: RawBuilder<unknown>;
  /** The INSERT, and the UPDATE of a single row, in place of those that take a list as one parameter. */
  readonly insert?: (plants: readonly NewPlant[]) => RawBuilder<Pick<PlantRow, 'id'>>;
  readonly updateRow?: (change: RowChange) => RawBuilder<Pick<PlantRow, 'id'>>;
  /** Why some rows cannot be read now, in words; undefined if all can be. */
  readonly problem?: (session: Session) => Promise<string | undefined>;
  /** Undefined where there is no log of changes. */
  readonly log?: LogDialect | undefined;
  readonly clock: Clock;
  /** The columns of `webhooks` that identify the table plants of a position, with their values for the present table. */
  readonly presentTable: Columns;
}

/** Values of an INSERT, or of an UPDATE, by their columns. */
export type Columns = Readonly<Record<string, RawBuilder<unknown>>>;

/** @throws PlantStoreError `changes_unavailable` if there is no log */
export function logOf({ log }: Dialect): LogDialect {
  if (log !== undefined) return log;
  throw new PlantStoreError('changes_unavailable', 'the table is on several servers, so there is no feed of changes');
}

/** The state of the log of changes, which `LogEnd` describes. */
export interface LogState extends Pick<LogEnd, 'epoch' | 'next' | 'settled'> {
  readonly purged_changed: bigint;
  readonly purged_id: bigint;
}

/** What databases say differently of the log of changes, over the one row of `change_feed`. */
export interface LogDialect {
  /** A SELECT of its state. */
  readonly state: RawBuilder<LogState>;
  /** Whether a second statement reads the state, after the rows: it costs less than the state beside each row. */
  readonly isStateReadLast: boolean;
  /** `settled` of its state. */
  readonly settled: RawBuilder<bigint>;
  /** @throws Error, saying what to do, if rows that are read with this state may be wrong */
  requireIntact(state: LogState | undefined): void;
  /** Names the log unless it has a name. @returns whether it had none: what was read before has to be read again */
  nameOnce(session: Session, state: LogState | undefined): Promise<boolean>;
  /** Invalidates all positions of consumers, after a restore that the service cannot detect. */
  renew(session: Session): Promise<void>;
}

/** The clock of the database, in its own type of times. */
interface Clock {
  readonly now: RawBuilder<unknown>;
  readonly later: (milliseconds: RawBuilder<unknown>) => RawBuilder<unknown>;
  readonly millisecondsSince: (time: RawBuilder<unknown>) => RawBuilder<number>;
  /** Before all times. */
  readonly longAgo: RawBuilder<unknown>;
}

/** Compiles and executes statements: Kysely, or something that does less. */
export interface Statements extends QueryExecutorProvider {
  executeQuery<Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>>;
}

/**
 * Gives a piece of work its statements. Each attempt has a session of its own. Outside a transaction, each statement takes a
 * connection of Postgres, or a turn on the only one of SQLite, and is committed by itself.
 */
export interface Session {
  readonly sql: Statements;
  readonly dialect: Dialect;
  /** Only in a transaction: it should end at this time of performance.now(), since all others wait for it. */
  readonly transaction?: { readonly end: number };
}

/** What a failure means for the caller. */
export interface StatementFailure {
  /**
   * - `transient`: it may succeed in a moment or on another connection.
   * - `blocked`: one of the statement's rows is locked for too long.
   * - `refused`: the database refuses one of the statement's rows, or the statement.
   * - `unavailable`: retrying soon would not help: the deadline has passed, the schema is not ready, or there is no room.
   */
  readonly means: 'transient' | 'blocked' | 'refused' | 'unavailable' | 'defect';
  /** Whether the statement may have succeeded nevertheless, or may still do so. All others have not. */
  readonly isOutcomeUnknown: boolean;
  /** Whether it may concern only some of a list's rows, so that the list should be repeated in parts. */
  readonly mayBeOneRowsFault: boolean;
  readonly isStatementTimeout: boolean;
  readonly isDiskFull: boolean;
}

/** An open database, whichever it is. */
export interface SqlDatabase {
  readonly sql: Statements;
  /** Runs work that writes, if it needs a transaction. The work should end at `end`, and may await its statements only. */
  readonly transaction?: <T>(work: (sql: Statements, end: number) => Promise<T>) => Promise<T>;
  /** How many statements it can run at once. */
  readonly connections: number;
  readonly failureOf: (error: unknown) => StatementFailure;
  /** Returns an error that also says what operators can do about the given one. */
  readonly withAdvice: (error: unknown) => unknown;
}
