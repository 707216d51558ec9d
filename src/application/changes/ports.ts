import type { NewPlant } from '../../domain/plant.ts';

/** A place in the log: after the row with this id, which the transaction `changed` wrote. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** A row of the log, and its position. */
export interface LogEntry extends Position {
  /** The newest state of a plant. */
  readonly stored: NewPlant | 'deleted';
}

/** How far an endpoint has acknowledged the log. */
export interface Progress {
  readonly endpoint: string;
  readonly position: Position;
  /** The last row of the log. */
  readonly end: Position;
}

/** The end of the log, as one snapshot shows it. */
export interface LogEnd {
  /** Identifies the table and its history of transactions, to which positions belong. */
  readonly epoch: string;
  /** The last position that has been purged. */
  readonly purged: Position;
  /** Greater than every `changed` so far: on Postgres, the number of the next transaction. */
  readonly next: bigint;
  /** Rows with a smaller `changed` have their final order. It is less than `next` while a transaction holds back rows. */
  readonly settled: bigint;
  /** The position of the last row that has its final order. */
  readonly position: Position;
}

/** What a database implements of the log. Each method rejects if there is no log or it cannot be read now. */
export interface LogReader {
  /** Reads up to `count` rows after a position, and the end of the log with them or right after them. */
  page(after: Position, count: number): Promise<{ readonly end: LogEnd; readonly rows: readonly LogEntry[] }>;
  /** Reads the current end of the log: whatever is committed later comes after it. */
  end(): Promise<LogEnd>;
  /**
   * Finds the open transaction that holds back the log now. Rows below `settled` are final. `age` is how many seconds the
   * transaction has been open; null if that cannot be seen.
   */
  holder(): Promise<{ readonly settled: bigint; readonly age: number | null } | undefined>;
}
