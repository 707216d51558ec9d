import { PlantStoreError } from '../../../domain/errors.ts';
import type { StatementFailure } from '../../sql/dialect.ts';
import { FULL_DISK } from '../../sql/recent-failure.ts';

/** SQLite's result codes (https://sqlite.org/rescode.html); the lower octet of an extended one is the primary one. */
const BUSY = 5;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;
/** A used-up quota (EDQUOT), a limit on the size of files (EFBIG), or a failing disk (EIO). */
const IOERR_WRITE = 778;
/** The index of the WAL, a file, cannot grow. */
const IOERR_SHMSIZE = 4874;
const IOERR_FSYNC = 1034;
const IOERR_DIR_FSYNC = 1290;

/** What operators can do about a failure. */
const REMEDIES = new Map([
  [FULL, FULL_DISK],
  [IOERR_SHMSIZE, FULL_DISK],
  [IOERR_WRITE, `${FULL_DISK}, or replace the disk if the system's log says that it fails`],
  [BUSY, 'another process has locked it: end that process, unless it is a command of Plant Store'],
  [NOMEM, 'this process has no memory left: give it more'],
  [READONLY, 'it is read-only: make the file, its folder and its file system writable'],
  [IOERR, 'its disk reports errors: replace it, and restore a backup'],
  [CORRUPT, 'it is damaged: restore a backup (npm run backup makes one)'],
  [CANTOPEN, 'it cannot be opened: make DATA_DIR and what is in it accessible for this user'],
  [NOTADB, 'it is not an SQLite database: restore a backup, or move it away for a new one'],
]);

/** The file cannot be used, or no longer; the message says what to do. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

type SystemError = NodeJS.ErrnoException & { readonly errcode?: number };

/** Classifies an error of SQLite, the system or this adapter. */
export function failureOf(error: unknown) {
  const { errcode: code = 0, syscall, message } = Object(error) as SystemError;
  const primary = code & 0xff;
  const isBusy = primary === BUSY;
  const isDiskFull = [FULL, IOERR_WRITE, IOERR_SHMSIZE].includes(code);
  const remedy = REMEDIES.get(isDiskFull ? code : primary);
  const why = remedy && (isDiskFull ? remedy : `the database cannot be used (${message}), since ${remedy}`);
  const problem = error instanceof FileError ? message : why;
  const isUnavailable = problem !== undefined || error instanceof PlantStoreError;
  const means: StatementFailure['means'] = isBusy ? 'transient' : isUnavailable ? 'unavailable' : 'defect';
  return {
    means,
    // A statement that fails has done nothing.
    isOutcomeUnknown: false,
    /** A damaged page fails only the statements that read it. */
    mayBeOneRowsFault: means === 'defect' || primary === CORRUPT || primary === IOERR,
    isStatementTimeout: false,
    /** Whether another process holds the required lock: nothing was done. */
    isBusy,
    /** Whether the disk may have lost earlier writes: only a restart, which writes them again, ensures that it has them. */
    isLostSync: code === IOERR_FSYNC || code === IOERR_DIR_FSYNC || syscall === 'fsync' || syscall === 'write',
    /** Whether a commit with this error has done nothing. */
    isNotCommitted: code === IOERR_WRITE || [FULL, BUSY, READONLY, NOMEM].includes(primary),
    isDiskFull,
    /** The problem and its remedy, in words; undefined if operators can do nothing. */
    problem,
  };
}

/** Puts an error into words that say what to do, if that is known. */
export function withAdvice(error: unknown): unknown {
  const cause = error instanceof PlantStoreError ? error.cause : error;
  const { problem } = failureOf(cause);
  return problem === undefined || cause instanceof FileError ? cause : new FileError(problem, { cause });
}
