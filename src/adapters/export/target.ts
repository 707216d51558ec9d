import { createWriteStream, lstatSync, realpathSync, renameSync, rmSync, type Stats } from 'node:fs';
import type { Writable } from 'node:stream';

/** Where an export is written. */
export interface Target {
  readonly stream: Writable;
  /** Makes it complete, after the stream has ended. @throws Error, saying what to do, if that fails */
  commit(): void;
  /** Removes an incomplete file. */
  discard(): void;
}

/** Standard output, which is complete when everything is written. */
export function standardOutput(): Target {
  return { stream: process.stdout, commit: () => {}, discard: () => {} };
}

/**
 * A file that appears under its name only when it is complete: it is written beside, flushed to the disk, and renamed.
 *
 * @param force whether to replace a file that exists
 * @throws Error, saying what to do, if there is one and `force` is false, or if it is not a regular file
 */
export function fileTarget(path: string, force: boolean): Target {
  requireFree(path, force);
  // A link stays, and the file behind it is replaced.
  const file = lstatOf(path)?.isSymbolicLink() ? realpathSync(path) : path;
  const partial = `${file}.partial`;
  const stream = createWriteStream(partial, { flush: true });
  return {
    stream,
    commit() {
      // It may have been created meanwhile.
      requireFree(path, force);
      renameSync(partial, file);
    },
    discard() {
      stream.destroy();
      rmSync(partial, { force: true });
    },
  };
}

function requireFree(path: string, force: boolean): void {
  const found = lstatOf(path);
  if (found === undefined) return;
  if (!found.isFile() && !found.isSymbolicLink()) {
    throw new Error(`${path} is not a regular file: name another one, or - for standard output`);
  }
  if (!force) throw new Error(`${path} exists: name another file, or replace it with --force`);
}

function lstatOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
