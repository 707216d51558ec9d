import type { Position } from '../ports.ts';
import type { Entry } from '../webhooks/ports.ts';

/** The feed as one snapshot shows it: the columns of a statement. */
export interface LogState {
  readonly epoch: string;
  /** The last position that has been purged. */
  readonly purged_changed: bigint;
  readonly purged_id: bigint;
  /** Greater than every `changed` so far: the next transaction of Postgres. */
  readonly next: bigint;
  /** What is less is final in its order. It is less than `next` while an open transaction holds back what came after it. */
  readonly settled: bigint;
}

/** The same, with the position of its last row. */
export interface LogEnd extends LogState {
  readonly position: Position;
}

/** What a database implements of the feed. Both reject if there is none, or it cannot be read now. */
export interface LogReader {
  /**
   * Reads up to `count` rows after a position.
   *
   * @returns them, and where the feed ends in the same snapshot
   */
  part(after: Position, count: number): Promise<{ readonly end: LogEnd; readonly rows: readonly Entry[] }>;
  /** Where the feed ends now: whatever is committed later comes after that. */
  end(): Promise<LogEnd>;
  /**
   * The open transaction that holds back the feed now, if one does: what is less than `settled` is final. `age` is for how
   * many seconds it has been open; null if that cannot be seen.
   */
  holder(): Promise<{ readonly settled: bigint; readonly age: number | null } | undefined>;
}
