import type { DatabaseSync } from 'node:sqlite';
import { recentFailure } from '../../sql/recent-failure.ts';
import { checkpoints } from './checkpoints.ts';
import { FileError, failureOf, tooLate, toPortError } from './failures.ts';
import { writeGroups } from './groups.ts';

/** A read that waits. */
interface Part {
  readonly work: () => unknown;
  readonly until: number;
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Milliseconds after which the event loop turns. */
const SLICE = 2;

/** Milliseconds until a read is tried again that another process has kept from its snapshot. */
const BUSY_PAUSE = 5;

interface DatabaseOptions {
  /** Where the file is, for messages. */
  readonly path: string;
  /** Milliseconds until work is given up that has no time of its own. */
  readonly timeout: number;
  /** Which file of the database was deleted or replaced, if any. */
  readonly lostFile: () => string | undefined;
  /** Ends the process once the responses have left that say so. */
  readonly end: (reason: string) => void;
}

/** What the service does with an open connection, wherever its database is: reads, writes and checkpoints. */
export function databaseOn(sql: DatabaseSync, { path, timeout, lostFile, end }: DatabaseOptions) {
  const failure = recentFailure(failureOf);
  let lost: FileError | undefined;

  function check(): void {
    if (lost !== undefined) throw lost;
    const missing = lostFile();
    // What is committed to a deleted file would be gone, and another process may use one that replaced it.
    if (missing !== undefined) {
      throw new FileError(
        `${missing} was deleted or replaced while the database was open, so nothing is written any more: ` +
          'restore DATA_DIR from a backup if it is gone, and restart the service',
      );
    }
  }

  const isUsable = () => lost === undefined && lostFile() === undefined;

  function onLostSync(error: unknown): void {
    if (lost !== undefined) return;
    const why = failureOf(error).isDiskFull ? 'is full' : `has failed (${(error as Error).message})`;
    const reason = `the disk of ${path} ${why}: it may have lost what was written last`;
    lost = new FileError(reason, { cause: error });
    end(`${reason}. Plant Store ends: what it has confirmed is written again at its next start.`);
  }

  const checkpoint = checkpoints(sql, onLostSync, failure.note);
  const { write } = writeGroups(sql, {
    timeout,
    check,
    onEnd: checkpoint.note,
    onFailure: failure.note,
    onLostSync,
  });

  return {
    sql,
    write,
    read: readSlices(timeout, check, failure.note),
    /** What has failed lately, in words. */
    failure,
    walSize: checkpoint.behind,
    /** @throws FileError while the file must not be used */
    check,
    /** Closes the connection, unless SQLite would write into a file that was replaced, or that may lack what was written. */
    async close(): Promise<void> {
      if (isUsable()) await checkpoint.finish();
      if (!isUsable()) return;
      sql.exec('pragma wal_checkpoint(truncate)');
      sql.close();
    },
  };
}

/**
 * Runs reads in the order in which they arrive, and lets the event loop turn before the first of them, and again once they
 * have taken some milliseconds: otherwise synchronous reads behind `await` would keep all sockets waiting.
 *
 * @param timeout milliseconds until a read is given up that has no time of its own
 * @param check throws while the file must not be used
 */
function readSlices(timeout: number, check: () => void, onFailure: (error: unknown) => void) {
  const waiting: Part[] = [];

  function runSlice(): void {
    const end = performance.now() + SLICE;
    let problem: unknown;
    try {
      check();
    } catch (error) {
      problem = error;
    }
    do {
      const part = waiting[0];
      if (part !== undefined) run(part, problem);
      // Not before: `add` would schedule another slice.
      waiting.shift();
    } while (waiting.length > 0 && performance.now() < end);
    if (waiting.length > 0) setImmediate(runSlice);
  }

  function run(part: Part, problem: unknown): void {
    const { work, until, resolve, reject } = part;
    try {
      if (problem !== undefined) throw problem;
      if (performance.now() >= until) throw tooLate();
      resolve(work() as never);
    } catch (error) {
      if (!failureOf(error).isBusy) {
        onFailure(error);
        reject(toPortError(error));
      } else if (performance.now() < until) setTimeout(add, BUSY_PAUSE, part);
      else reject(tooLate(error));
    }
  }

  function add(part: Part): void {
    if (waiting.push(part) === 1) setImmediate(runSlice);
  }

  /** @param work statements that take no longer than some milliseconds, and leave no transaction open */
  return <T>(work: () => T, until = performance.now() + timeout): Promise<T> =>
    new Promise((resolve, reject) => add({ work, until, resolve, reject }));
}
