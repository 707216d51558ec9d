import { closeSync, constants, openSync, readSync } from 'node:fs';
import { blockFor } from './block-for.ts';

/** Milliseconds between attempts to read from a pipe that has no data yet. */
const PAUSE = 10;

/** A limit for sources without an end, such as devices. */
const MAX_BYTES = 1024 ** 2;

/**
 * Reads a whole file, or a pipe until its writers have closed it. Unlike a plain read, it never blocks for longer than
 * the limit: a pipe that no process has opened for writing reads as empty.
 *
 * @param limit milliseconds to wait for writers
 * @throws Error if the file cannot be read, is not complete within the limit (EAGAIN), or exceeds a megabyte
 */
export function readWithin(path: string, limit: number): string {
  const end = performance.now() + limit;
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for (;;) {
      const chunk = Buffer.alloc(65_536);
      const bytes = readNow(fd, chunk, performance.now() < end);
      if (bytes === 0) return Buffer.concat(chunks).toString('utf8');
      if (bytes === undefined) {
        blockFor(PAUSE);
        continue;
      }
      chunks.push(chunk.subarray(0, bytes));
      size += bytes;
      if (size > MAX_BYTES) throw new RangeError(`${path} has more than ${MAX_BYTES} bytes`);
    }
  } finally {
    closeSync(fd);
  }
}

/** @returns the number of bytes, 0 at the end of the file, undefined if there is no data yet and it may wait */
function readNow(fd: number, chunk: Buffer, mayWait: boolean): number | undefined {
  try {
    return readSync(fd, chunk);
  } catch (error) {
    if (mayWait && (error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
