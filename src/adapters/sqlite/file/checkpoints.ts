import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

/** The bytes of a page of a new database. */
const PAGE = 4_096;

/** Bytes that a checkpoint writes at once, unless a reader has kept more of them in the WAL. */
const CHECKPOINT = 900 * PAGE;

/** Bytes of a WAL whose checkpoint would hold the event loop for too long: SQLite has no bound for one. */
const LARGE = 2 * CHECKPOINT;

/** Milliseconds until the WAL is looked at again, and until a checkpoint that could not be finished is tried again. */
const PAUSE = { look: 10, retry: 1_000 };

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

  /** Bytes in the WAL, and those of them that no checkpoint has written into the file yet. */
  function size(): { readonly all: number; readonly behind: number } {
    const { log, checkpointed } = inspection.get() as unknown as Progress;
    return { all: Number(log) * PAGE, behind: Number(log - checkpointed) * PAGE };
  }

  function failed(error: unknown): void {
    pauseEnd = performance.now() + PAUSE.retry;
    onFailure(error);
  }

  async function run(): Promise<void> {
    try {
      // In a turn of its own: the group has taken some milliseconds, and its responses wait.
      await nextTurn();
      const isLarge = size().all >= LARGE;
      const progress = isLarge ? await writeInThread(`${sql.location()}`) : (checkpoint.get() as unknown as Progress);
      if (progress.checkpointed < progress.log) pauseEnd = performance.now() + PAUSE.retry;
    } catch (error) {
      failed(error);
    }
    running = undefined;
  }

  return {
    /** To be called after each transaction. */
    note(): void {
      if (running !== undefined || performance.now() < pauseEnd) return;
      pauseEnd = performance.now() + PAUSE.look;
      try {
        if (size().behind >= CHECKPOINT) running = run();
      } catch (error) {
        failed(error);
      }
    },
    behind: () => size().behind,
    /** Resolves once none runs. */
    finish: async () => running,
  };
}

/** @throws SQLite's error */
async function writeInThread(path: string): Promise<Progress> {
  const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
    // Another file in its place is not created.
    workerData: `${pathToFileURL(path).href}?mode=rw`,
  });
  const [progress] = await once(thread, 'message');
  return progress;
}
