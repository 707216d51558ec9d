import { closeSync, constants, openSync, readSync } from 'node:fs';
import { blockFor } from './block-for.ts';

/** Milliseconds between two attempts to read what has not been written yet. */
const PAUSE = 10;

/** Bytes; what goes on for ever, such as a device, is not read to its end. */
const MOST = 1024 ** 2;

/**
 * All text of a file, or of a pipe until its writers have left. Unlike a plain read it ends though a pipe has no writer
 * yet, whose text is empty, or one that writes nothing.
 *
 * @param limit milliseconds that it waits for writers
 * @throws Error if the file cannot be read, not within the limit (EAGAIN), or has more than a megabyte
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
      if (size > MOST) throw new RangeError(`${path} has more than ${MOST} bytes`);
    }
  } finally {
    closeSync(fd);
  }
}

/** @returns the number of bytes, 0 at the end, undefined if there is nothing yet and it may wait */
function readNow(fd: number, chunk: Buffer, mayWait: boolean): number | undefined {
  try {
    return readSync(fd, chunk);
  } catch (error) {
    if (mayWait && (error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}
