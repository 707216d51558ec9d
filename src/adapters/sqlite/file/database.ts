import type { DatabaseSync } from 'node:sqlite';
import { recentFailure } from '../../sql/recent-failure.ts';
import { runner } from '../../sql/run.ts';
import { sqlite } from '../dialect.ts';
import { checkpoints } from './checkpoints.ts';
import { statementsOn } from './driver.ts';
import { FileError, failureOf } from './failures.ts';

/** So many statements wait for their turn at once, and twice as many. */
const CONNECTIONS = 4;

/** Milliseconds until what another process has kept from its lock is tried again, as in run.ts. */
const BUSY_PAUSE = { first: 5, longest: 20 };

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
  const statements = statementsOn(sql, { check, onEnd: checkpoint.note, onLostSync });
  const database = { sql: statements.sql, connections: CONNECTIONS, failureOf };
  const run = statements.withTransactions(
    runner(database, { gate: () => sqlite, timeout, onFailure: failure.note, pause: BUSY_PAUSE }),
  );
  return {
    sql,
    timeout,
    run,
    failureOf,
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
