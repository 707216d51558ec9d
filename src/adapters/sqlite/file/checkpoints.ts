import type { DatabaseSync } from 'node:sqlite';
import { isLostSync } from './failures.ts';

/** The page of a new database. */
const PAGE = 4_096;

/** Bytes that a checkpoint writes at once, unless a reader has kept more of them in the WAL. */
const CHECKPOINT = 900 * PAGE;

/** Milliseconds until a checkpoint is tried again that could not be finished. */
const PAUSE = 1_000;

interface Progress {
  readonly log: bigint;
  readonly checkpointed: bigint;
}

/**
 * Writes the pages of the WAL into the file once there are some. SQLite's own checkpoints hide a failing fsync and try
 * again, when the kernel reports success without the data.
 *
 * @param onLostSync as of writeGroups
 */
export function checkpoints(
  sql: DatabaseSync,
  onLostSync: (error: unknown) => void,
  onFailure: (error: unknown) => void,
) {
  const inspect = sql.prepare('pragma wal_checkpoint(noop)');
  const write = sql.prepare('pragma wal_checkpoint(passive)');
  let isScheduled = false;
  let pauseEnd = 0;

  function run(): void {
    isScheduled = false;
    try {
      const { log, checkpointed } = write.get() as unknown as Progress;
      if (checkpointed < log) pauseEnd = performance.now() + PAUSE;
    } catch (error) {
      pauseEnd = performance.now() + PAUSE;
      if (isLostSync(error)) onLostSync(error);
      onFailure(error);
    }
  }

  /** Bytes in the WAL that no checkpoint has written into the file yet. */
  function behind(): number {
    try {
      const { log, checkpointed } = inspect.get() as unknown as Progress;
      return Number(log - checkpointed) * PAGE;
    } catch (error) {
      onFailure(error);
      return 0;
    }
  }

  return {
    /** To be called after each transaction. */
    note(): void {
      if (isScheduled || performance.now() < pauseEnd || behind() < CHECKPOINT) return;
      isScheduled = true;
      // In a turn of its own: the group has taken some milliseconds, and its responses wait.
      setImmediate(run);
    },
    behind,
  };
}
