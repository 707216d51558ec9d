import { type BigIntStats, closeSync, constants, lstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import type { PlantStoreError } from '../../domain/errors.ts';
import type { Entry } from './entry.ts';

/** Where refused entries are kept, for people to correct and import again. */
export interface RejectedFile {
  /** Writes a line of JSON, at once: what was refused is known even if this process is killed. */
  add(entry: Entry, reason: PlantStoreError): void;
  close(): void;
}

/**
 * Removes what an earlier import has left at the path; the file is made when something is refused. What is no plain file
 * stays: a link's file is emptied, a device or a pipe, such as /dev/stderr, is written to as it is.
 *
 * @param list what was opened as the list, which must be another file
 * @throws Error, saying what to do, if it is the list, whichever name it has, or cannot be written
 */
export function rejectedFile(path: string, list: BigIntStats): RejectedFile {
  let file: number | undefined;
  try {
    file = prepared(path, list);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`what is refused cannot be written to ${path} (${message}): name another file with --rejected`);
  }
  return {
    add({ line, lastLine, bytes }, { code, message }) {
      const outcome = code === 'id_taken' ? 'conflicting' : 'invalid';
      const joined = lastLine > line ? `; lines ${line} to ${lastLine} are one record, joined by a quote` : '';
      const refused = { line, outcome, reason: message + joined, text: bytes.toString() };
      // Never over a file that has come to this name since.
      file ??= openSync(path, 'wx');
      writeSync(file, `${JSON.stringify(refused)}\n`);
    },
    close() {
      if (file !== undefined) closeSync(file);
    },
  };
}

/** @returns the descriptor of what is there already; undefined for a file, which is made when it is needed */
function prepared(path: string, list: BigIntStats): number | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  // One terminal may well be both.
  const isList = found?.dev === list.dev && found.ino === list.ino && !found.isCharacterDevice();
  if (isList) throw new Error('it is the list itself');
  // Not the file that a link leads to: /dev/stderr may lead to one, and the machine needs that link.
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named !== undefined && !named.isFile()) return openAsItIs(path);
  rmSync(path, { force: true });
  // Made for a moment, to find out whether it can be before anything is imported.
  closeSync(openSync(path, 'wx'));
  rmSync(path);
  return undefined;
}

/** A plain open of a FIFO would wait until somebody reads it; without blocking it fails, and with a reader both succeed. */
function openAsItIs(path: string): number {
  const trial = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    return openSync(path, constants.O_WRONLY | constants.O_TRUNC);
  } finally {
    closeSync(trial);
  }
}
