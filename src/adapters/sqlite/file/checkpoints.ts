import { once } from 'node:events';
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';

/** The size of a page of a new database. */
const PAGE_BYTES = 4_096;

/** The bytes that a checkpoint usually writes; more if a reader has kept them in the WAL. */
const CHECKPOINT_BYTES_MIN = 900 * PAGE_BYTES;

/** From this size, a checkpoint would block the event loop for too long: SQLite cannot bound it. */
const LARGE_WAL_BYTES_MIN = 2 * CHECKPOINT_BYTES_MIN;

/** The time until the size of the WAL is read again. */
const CHECK_MS = 10;

/** The time until an unfinished checkpoint is tried again. */
const RETRY_MS = 1_000;

/** The pages in the WAL, and how many of them are in the file. */
interface Progress {
  readonly log: bigint;
  readonly checkpointed: bigint;
}

/**
 * Writes the pages of the WAL into the file once there are enough, in a thread if there are many. After a failed fsync,
 * SQLite's own checkpoints try again silently, and the kernel then reports success without the data.
 *
 * @param onFailure called with the error of each failed checkpoint
 */
export function checkpoints(sql: DatabaseSync, onFailure: (error: unknown) => void) {
  const inspection = sql.prepare('pragma wal_checkpoint(noop)');
  const checkpoint = sql.prepare('pragma wal_checkpoint(passive)');
  let current: Promise<void> | undefined;
  let pauseEnd = 0;

  function walBytes(): { readonly all: number; readonly unwritten: number } {
    const { log, checkpointed } = progressOf(inspection);
    return { all: Number(log) * PAGE_BYTES, unwritten: Number(log - checkpointed) * PAGE_BYTES };
  }

  function onError(error: unknown): void {
    pauseEnd = performance.now() + RETRY_MS;
    onFailure(error);
  }

  async function run(): Promise<void> {
    try {
      // In its own turn: the group has taken some milliseconds, and its responses wait.
      await nextTurn();
      const isLarge = walBytes().all >= LARGE_WAL_BYTES_MIN;
      const progress = isLarge ? await writeInThread(`${sql.location()}`) : progressOf(checkpoint);
      if (progress.checkpointed < progress.log) pauseEnd = performance.now() + RETRY_MS;
    } catch (error) {
      onError(error);
    }
    current = undefined;
  }

  return {
    /** Must be called after each transaction. */
    note(): void {
      if (current !== undefined || performance.now() < pauseEnd) return;
      pauseEnd = performance.now() + CHECK_MS;
      try {
        if (walBytes().unwritten >= CHECKPOINT_BYTES_MIN) current = run();
      } catch (error) {
        onError(error);
      }
    },
    /** The bytes in the WAL that no checkpoint has written into the file yet. */
    unwrittenBytes: () => walBytes().unwritten,
    /** Resolves once no checkpoint runs. */
    finish: async () => current,
  };
}

const progressOf = (pragma: StatementSync) => pragma.get() as unknown as Progress;

/** @throws SQLite's error */
async function writeInThread(path: string): Promise<Progress> {
  const { ino } = statSync(path, { bigint: true });
  const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), { workerData: { path, ino } });
  const [progress] = await once(thread, 'message');
  return progress;
}
