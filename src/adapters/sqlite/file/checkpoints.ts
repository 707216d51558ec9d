import { once } from 'node:events';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/** Of a page of a new database. */
const PAGE_BYTES = 4_096;

/** What a checkpoint writes at once, unless a reader has kept more of it in the WAL. */
const CHECKPOINT_BYTES = 900 * PAGE_BYTES;

/** The checkpoint of a WAL of this size would hold the event loop for too long: SQLite has no bound for one. */
const LARGE_WAL_BYTES = 2 * CHECKPOINT_BYTES;

/** The time until the size of the WAL is read again. */
const CHECK_MS = 10;

/** The time until a checkpoint that could not be finished is tried again. */
const RETRY_MS = 1_000;

/** Pages in the WAL, and how many of them are in the file. */
interface Progress {
  readonly log: bigint;
  readonly checkpointed: bigint;
}

/**
 * Writes the pages of the WAL into the file once there are some, in a thread if they are many. SQLite's own checkpoints hide
 * a failing fsync and try again, when the kernel reports success without the data.
 *
 * @param onFailure called with the error of each one that fails
 */
export function checkpoints(sql: DatabaseSync, onFailure: (error: unknown) => void) {
  const inspection = sql.prepare('pragma wal_checkpoint(noop)');
  const checkpoint = sql.prepare('pragma wal_checkpoint(passive)');
  let running: Promise<void> | undefined;
  let pauseEnd = 0;

  function walBytes(): { readonly all: number; readonly unwritten: number } {
    const { log, checkpointed } = progressOf(inspection);
    return { all: Number(log) * PAGE_BYTES, unwritten: Number(log - checkpointed) * PAGE_BYTES };
  }

  function failed(error: unknown): void {
    pauseEnd = performance.now() + RETRY_MS;
    onFailure(error);
  }

  async function run(): Promise<void> {
    try {
      // In a turn of its own: the group has taken some milliseconds, and its responses wait.
      await nextTurn();
      const isLarge = walBytes().all >= LARGE_WAL_BYTES;
      const progress = isLarge ? await writeInThread(`${sql.location()}`) : progressOf(checkpoint);
      if (progress.checkpointed < progress.log) pauseEnd = performance.now() + RETRY_MS;
    } catch (error) {
      failed(error);
    }
    running = undefined;
  }

  return {
    /** To be called after each transaction. */
    note(): void {
      if (running !== undefined || performance.now() < pauseEnd) return;
      pauseEnd = performance.now() + CHECK_MS;
      try {
        if (walBytes().unwritten >= CHECKPOINT_BYTES) running = run();
      } catch (error) {
        failed(error);
      }
    },
    /** Bytes in the WAL that no checkpoint has written into the file yet. */
    unwrittenBytes: () => walBytes().unwritten,
    /** Resolves once none runs. */
    finish: async () => running,
  };
}

const progressOf = (pragma: StatementSync) => pragma.get() as unknown as Progress;

/** @throws SQLite's error */
async function writeInThread(path: string): Promise<Progress> {
  const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
    // Another file in its place is not created.
    workerData: `${pathToFileURL(path).href}?mode=rw`,
  });
  const [progress] = await once(thread, 'message');
  return progress;
}
