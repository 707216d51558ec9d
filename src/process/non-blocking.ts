import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';

/**
 * A non-blocking descriptor of a pipe or terminal that is this process's own. Node.js makes its own stdout non-blocking,
 * but it shares that state with every process that has the pipe, and one that ends (npm) sets it back. A file is shared
 * as it is, since the processes that write to it must also share their place in it; so is a socket, which cannot be
 * opened again.
 */
export function nonBlocking(fd: number): number {
  if (!fstatSync(fd).isFIFO() && !isatty(fd)) return fd;
  try {
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
