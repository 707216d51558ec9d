import { once } from 'node:events';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { fileAddress, statement } from './connection.ts';
import { failureOf } from './failures.ts';

/** The page of a new database. */
const PAGE = 4_096;

/** Bytes that a checkpoint writes at once, unless a reader has kept more of them in the WAL. */
const CHECKPOINT = 900 * PAGE;

/** Bytes of a WAL whose checkpoint would hold the event loop for too long: SQLite has no bound for one. */
const LARGE = 2 * CHECKPOINT;

/** Milliseconds until a checkpoint is tried again that could not be finished. */
const PAUSE = 1_000;

/** Pages in the WAL, and how many of them are in the file. */
interface Progress {
  readonly log: bigint;
  readonly checkpointed: bigint;
}

const NONE: Progress = { log: 0n, checkpointed: 0n };

/**
 * Writes the pages of the WAL into the file once there are some, in a thread if they are many. SQLite's own checkpoints hide
 * a failing fsync and try again, when the kernel reports success without the data.
 *
 * @param onLostSync as of writeGroups
 */
export function checkpoints(
  sql: DatabaseSync,
  onLostSync: (error: unknown) => void,
  onFailure: (error: unknown) => void,
) {
  const inspect = statement<Progress>(sql, 'pragma wal_checkpoint(noop)');
  const write = statement<Progress>(sql, 'pragma wal_checkpoint(passive)');
  let running: Promise<void> | undefined;
  let pauseEnd = 0;

  async function run(): Promise<void> {
    try {
      const { log, checkpointed } = (isLarge() ? await writeInThread(sql.location() ?? '') : write.get()) ?? NONE;
      if (checkpointed < log) pauseEnd = performance.now() + PAUSE;
    } catch (error) {
      pauseEnd = performance.now() + PAUSE;
      if (failureOf(error).isLostSync) onLostSync(error);
      onFailure(error);
    }
    running = undefined;
  }

  function now(): Progress {
    try {
      return inspect.get() ?? NONE;
    } catch (error) {
      onFailure(error);
      return NONE;
    }
  }

  const isLarge = () => Number(now().log) * PAGE >= LARGE;

  /** Bytes in the WAL that no checkpoint has written into the file yet. */
  function behind(): number {
    const { log, checkpointed } = now();
    return Number(log - checkpointed) * PAGE;
  }

  return {
    /** To be called after each transaction. */
    note(): void {
      if (running !== undefined || performance.now() < pauseEnd || behind() < CHECKPOINT) return;
      // In a turn of its own: the group has taken some milliseconds, and its responses wait.
      running = nextTurn().then(run);
    },
    behind,
    /** Resolves once none runs, and the last one, at the end of the connection, has little to do. */
    async finish(): Promise<void> {
      await running;
      if (isLarge()) await run();
    },
  };
}

/** @throws SQLite's error */
async function writeInThread(path: string): Promise<Progress> {
  const thread = new Worker(new URL('./checkpoint-thread.ts', import.meta.url), {
    workerData: fileAddress(path, 'mode=rw').href,
  });
  const [progress] = await once(thread, 'message');
  return progress;
}
