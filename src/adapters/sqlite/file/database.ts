import { accessSync, constants } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { recentFailure } from '../../sql/recent-failure.ts';
import { type Executor, runner } from '../../sql/run.ts';
import { sqlite } from '../dialect.ts';
import { checkpoints } from './checkpoints.ts';
import { statementsOn } from './driver.ts';
import { FileError, failureOf, withAdvice } from './failures.ts';

/** The lanes are those of this many connections, though there is only one. */
const CONNECTIONS = 4;

/** The pauses between attempts at work that the lock of another process prevents. */
const BUSY_PAUSES_MS = { first: 5, longest: 20 };

export interface DatabaseOptions {
  /** The path of the file. */
  readonly path: string;
  /** Milliseconds until work without a deadline of its own times out. */
  readonly timeout: number;
  /** The file of the database that was deleted or replaced; undefined if none was. */
  readonly lostFile: () => string | undefined;
  /** Ends the process once the responses that report the reason have left. */
  readonly end: (reason: string) => void;
}

/** The database of a service. */
export interface OpenDatabase extends Executor {
  readonly sql: DatabaseSync;
  /** A recent failure, in words. */
  readonly recentProblem: () => string | undefined;
  /** The bytes in the WAL that are not in the file yet. */
  readonly walSize: () => number;
  /** @throws Error if nothing can be written, which only a commit with content reveals */
  readonly requireWritable: () => void;
  /** @throws Error, leaving the connection open, if SQLite would write into a replaced file, or lacks what was written */
  readonly close: () => Promise<void>;
}

/** Uses an open connection for the service, wherever its database is: reads, writes and checkpoints. */
export function databaseOn(sql: DatabaseSync, { path, timeout, lostFile, end }: DatabaseOptions): OpenDatabase {
  const failure = recentFailure(failureOf);
  let lostSync: FileError | undefined;

  /** @throws FileError while the file must not be used */
  function check(): void {
    if (lostSync !== undefined) throw lostSync;
    const lostPath = lostFile();
    // A commit to a deleted file would be lost, and another process may use the file that replaced it.
    if (lostPath !== undefined) {
      throw new FileError(
        `${lostPath} was deleted or replaced while the database was open, so nothing is written any more: ` +
          'restore DATA_DIR from a backup if it is gone, and restart the service',
      );
    }
  }

  function onLostSync(error: unknown): void {
    if (lostSync !== undefined) return;
    const why = failureOf(error).isDiskFull ? 'is full' : `has failed (${(error as Error).message})`;
    const reason = `the disk of ${path} ${why}: it may have lost what was written last`;
    lostSync = new FileError(reason, { cause: error });
    end(`${reason}. Plant Store ends: what it has confirmed is written again at its next start.`);
  }

  const checkpoint = checkpoints(sql, (error) => {
    failure.note(error);
    if (failureOf(error).isLostSync) onLostSync(error);
  });
  const statements = statementsOn(sql, { check, onTransaction: checkpoint.note, onLostSync });
  const executor = runner(
    { ...statements, connections: CONNECTIONS, failureOf, withAdvice },
    { gate: () => sqlite, timeout, onFailure: failure.note, pauses: BUSY_PAUSES_MS },
  );
  return {
    sql,
    ...executor,
    recentProblem: failure.problem,
    walSize: checkpoint.unwrittenBytes,
    requireWritable(): void {
      check();
      for (const name of [path, `${path}-wal`]) accessSync(name, constants.W_OK);
    },
    async close(): Promise<void> {
      await checkpoint.finish();
      check();
      sql.exec('pragma wal_checkpoint(truncate)');
      sql.close();
    },
  };
}
