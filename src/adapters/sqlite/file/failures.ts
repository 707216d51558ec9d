import { PlantStoreError, storeUnavailable } from '../../../domain/errors.ts';
import { FULL_DISK } from '../../feed/recent-failure.ts';

/** SQLite's result codes (https://sqlite.org/rescode.html); the lower octet of an extended one is the primary one. */
const BUSY = 5;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;
/** A used-up quota (EDQUOT) and a limit of the size of files (EFBIG), too. */
const IOERR_WRITE = 778;
const IOERR_FSYNC = 1034;
const IOERR_DIR_FSYNC = 1290;

/** What operators can do about a failure. */
const REMEDIES = new Map([
  [BUSY, 'another process holds its lock: end that one, if it is no command of this program'],
  [NOMEM, 'this process has no memory left: give it more'],
  [READONLY, 'it is read-only: make the file, its folder and its file system writable'],
  [IOERR, 'its disk reports errors: replace it, and restore a backup'],
  [CORRUPT, 'it is damaged: restore a backup (npm run backup makes one)'],
  [CANTOPEN, 'it cannot be opened: make DATA_DIR and what is in it accessible for this user'],
  [NOTADB, 'it is no database of SQLite: restore a backup, or move it away for a new one'],
]);

/** The file must not be used, or not any more; the message says what to do. */
export class FileError extends Error {
  override readonly name = 'FileError';
}

/** SQLite's result code of an error; undefined if it is not one of SQLite. */
function resultCode(error: unknown): number | undefined {
  return (error as { errcode?: number } | undefined)?.errcode;
}

function primaryCode(error: unknown): number | undefined {
  const code = resultCode(error);
  return code && code & 0xff;
}

/** Whether another process holds the lock that is needed: nothing was done. */
export function isBusy(error: unknown): boolean {
  return primaryCode(error) === BUSY;
}

/** Whether there is no room on the disk: nothing was done. */
function isDiskFull(error: unknown): boolean {
  const code = resultCode(error);
  return code === FULL || code === IOERR_WRITE;
}

/** Whether the disk may have lost what was written before: only a new start, which writes it again, makes it certain. */
export function isLostSync(error: unknown): boolean {
  const code = resultCode(error);
  return code === IOERR_FSYNC || code === IOERR_DIR_FSYNC;
}

/** Whether a commit that failed so has done nothing. */
export function isNotCommitted(error: unknown): boolean {
  return isDiskFull(error) || [BUSY, READONLY, NOMEM].includes(primaryCode(error) ?? 0);
}

/** What is wrong and what to do about it, in words; undefined if operators cannot do anything. */
export function problemOf(error: unknown): string | undefined {
  if (error instanceof FileError) return error.message;
  if (isDiskFull(error)) return FULL_DISK;
  const remedy = REMEDIES.get(primaryCode(error) ?? 0);
  return remedy && `the database cannot be used (${(error as Error).message}), since ${remedy}`;
}

/** Translates a failure into the rejection that the ports promise. */
export function toPortError(error: unknown): unknown {
  if (error instanceof PlantStoreError || problemOf(error) === undefined) return error;
  const why = isDiskFull(error) ? 'has no room left, so its operators must make some' : 'is unavailable';
  return storeUnavailable(`the store ${why}`, { cause: error });
}

/** Work that nobody waits for any more. */
export function tooLate(cause?: unknown): PlantStoreError {
  return storeUnavailable('the store has not responded in time', { cause });
}
