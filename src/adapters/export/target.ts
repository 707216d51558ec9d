import * as fs from 'node:fs';
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
 * @param force whether to replace a file that exists; the new one keeps its mode, and where permitted its owner
 * @throws Error, saying what to do, if there is one and `force` is false, if it is not a regular file, or if it cannot
 *   be created, as while another export writes it
 */
export function fileTarget(path: string, force: boolean): Target {
  const file = freePath(path, force);
  const partial = `${file}.partial`;
  const replaced = fs.statSync(file, { throwIfNoEntry: false });
  const fd = create(partial, path, replaced === undefined ? 0o666 : 0o600);
  if (replaced !== undefined) takeOver(replaced, fd);
  const stream = fs.createWriteStream(partial, { fd, flush: true });
  return {
    stream,
    commit() {
      // It may have been created meanwhile.
      freePath(path, force);
      fs.renameSync(partial, file);
    },
    discard() {
      stream.destroy();
      fs.rmSync(partial, { force: true });
    },
  };
}

/** @returns the file to write: a link stays, and the file behind it is replaced */
function freePath(path: string, force: boolean): string {
  if (fs.lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  const found = fs.statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new Error(`${path} is a link to nothing: remove it, or name another file`);
  if (!found.isFile()) throw new Error(`${path} is not a regular file: name another one, or - for standard output`);
  if (!force) throw new Error(`${path} exists: name another file, or replace it with --force`);
  return fs.realpathSync(path);
}

/** Gives a new file the mode of the one that it replaces, and its owner and group where that is permitted. */
function takeOver({ uid, gid, mode }: fs.Stats, fd: number): void {
  try {
    fs.fchownSync(fd, uid, gid);
  } catch {
    // Only root may give files away.
  }
  fs.fchmodSync(fd, mode);
}

/** Exclusively, since a second export would empty what the first one writes. @returns the descriptor */
function create(partial: string, path: string, mode: number): number {
  try {
    return fs.openSync(partial, 'wx', mode);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(
      code === 'EEXIST'
        ? `${partial} exists: another export is writing ${path}, or one was killed; if none is running, remove it`
        : `${path} cannot be written (${message}): fix that, or name another file`,
    );
  }
}
