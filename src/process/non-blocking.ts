import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';

/**
 * Reopens a pipe or terminal as a non-blocking descriptor that only this process has. Node.js makes its own stdout
 * non-blocking, but every process that has the pipe shares that flag, and one that exits (npm) resets it. A file is
 * used as it is, since all processes that write to it must share its offset; so is a socket, which cannot be reopened.
 */
export function nonBlocking(fd: number): number {
  if (!fstatSync(fd).isFIFO() && !isatty(fd)) return fd;
  try {
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
