import { type BigIntStats, closeSync, lstatSync, openSync, rmSync, writeSync } from 'node:fs';
import type { PlantStoreError } from '../../domain/errors.ts';
import { type Entry, isConflict } from './entry.ts';

/**
 * Where refused entries are written, to be corrected and imported again. Removes an earlier import's file; a new one is
 * created when an entry is refused.
 *
 * @param list the opened list, which must be a different file
 * @throws Error, saying what to do, if the path leads to the list, to anything but a regular file, or cannot be written
 */
export function rejectedFile(path: string, list: BigIntStats) {
  let file: number | undefined;
  withAdvice(path, () => removeEarlier(path, list));
  return {
    /** Writes a line of JSON synchronously, so that it survives even a kill of this process. */
    add({ line: { number, lastNumber, bytes } }: Entry, reason: PlantStoreError): void {
      const outcome = isConflict(reason) ? 'conflicting' : 'invalid';
      const lines = lastNumber > number ? `; lines ${number} to ${lastNumber} are one record, joined by a quote` : '';
      const refused = { line: number, outcome, reason: reason.message + lines, text: bytes.toString() };
      withAdvice(path, () => {
        // Exclusively: never overwrites a file created meanwhile.
        file ??= openSync(path, 'wx');
        writeSync(file, `${JSON.stringify(refused)}\n`);
      });
    },
    close(): void {
      if (file !== undefined) closeSync(file);
    },
  };
}

function withAdvice(path: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`refused plants cannot be written to ${path} (${message}): name another file with --rejected`);
  }
}

function removeEarlier(path: string, list: BigIntStats): void {
  // lstat: a link is not followed, so that the file behind it stays.
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw new Error('it is not a regular file');
  if (found?.dev === list.dev && found.ino === list.ino) throw new Error('it is the list itself');
  rmSync(path, { force: true });
  // A trial, so that a failure shows before anything is imported.
  closeSync(openSync(path, 'wx'));
  rmSync(path);
}
