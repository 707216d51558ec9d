import { type BigIntStats, closeSync, constants, lstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import type { PlantStoreError } from '../../domain/errors.ts';
import { type Entry, isConflict } from './entry.ts';

/** Where refused entries are written, to be corrected and imported again. */
export interface RejectedFile {
  /** Writes a line of JSON synchronously, so that it survives even a kill of this process. */
  add(entry: Entry, reason: PlantStoreError): void;
  close(): void;
}

/**
 * Removes an earlier import's file; a new one is created when an entry is refused. Only a regular file is removed: the
 * target of a link is truncated, and a device or a pipe, such as /dev/stderr, is written to as it is.
 *
 * @param list the opened list, which must be a different file
 * @throws Error, saying what to do, if the path leads to the list, under any name, or cannot be written
 */
export function rejectedFile(path: string, list: BigIntStats): RejectedFile {
  let file: number | undefined;
  try {
    file = prepare(path, list);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`refused plants cannot be written to ${path} (${message}): name another file with --rejected`);
  }
  return {
    add({ line, lastLine, bytes }, { code, message }) {
      const outcome = isConflict(code) ? 'conflicting' : 'invalid';
      const joined = lastLine > line ? `; lines ${line} to ${lastLine} are one record, joined by a quote` : '';
      const refused = { line, outcome, reason: message + joined, text: bytes.toString() };
      // Exclusively: never overwrites a file created meanwhile.
      file ??= openSync(path, 'wx');
      writeSync(file, `${JSON.stringify(refused)}\n`);
    },
    close() {
      if (file !== undefined) closeSync(file);
    },
  };
}

/** @returns the descriptor of an existing device, pipe or link; undefined for a file, which is created when needed */
function prepare(path: string, list: BigIntStats): number | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  // A terminal may be both.
  const isList = found?.dev === list.dev && found.ino === list.ino && !found.isCharacterDevice();
  if (isList) throw new Error('it is the list itself');
  // lstat, since a link must stay: /dev/stderr may be one, and it may lead to a file.
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named !== undefined && !named.isFile()) return openAsItIs(path);
  rmSync(path, { force: true });
  // A trial, so that a failure shows before anything is imported.
  closeSync(openSync(path, 'wx'));
  rmSync(path);
  return undefined;
}

/** A blocking open of a FIFO would wait for a reader; the non-blocking trial fails without one. */
function openAsItIs(path: string): number {
  const trial = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    return openSync(path, constants.O_WRONLY | constants.O_TRUNC);
  } finally {
    closeSync(trial);
  }
}
