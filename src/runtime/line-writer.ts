import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';

/** Milliseconds after which queued lines are written, and a failed write is tried again. */
const DELAY_MS = 10;

/** Characters queued at most, so that a pause of a reader or disk costs no lines: 0.8 s of the busiest service's log. */
const QUEUED_LENGTH_MAX = 4 * 1024 ** 2;

/** Milliseconds that the end of the process waits for a slow reader. */
const FLUSH_MS_MAX = 250;

/**
 * Writes lines to stdout or stderr so that neither a full disk nor a reader that stalls or exits can stop the process.
 * Failed writes are retried, and only whole lines are dropped. It never throws, and only `flush` waits for the reader.
 *
 * @param group characters to collect before a write, which is a system call; 0 collects none
 * @param onFailure called with the reason whenever a write fails or a line is dropped
 */
export function lineWriter(stream: { readonly fd: number }, group: number, onFailure?: (reason: string) => void) {
  const fd = nonBlocking(stream.fd);
  let queue = '';
  /** Lines taken from the queue, without the part that is written. */
  let current: Buffer = Buffer.alloc(0);
  /** Why the last write failed. */
  let failure: NodeJS.ErrnoException | undefined;
  let isScheduled = false;

  function writeQueued(): void {
    failure = undefined;
    try {
      for (;;) {
        if (current.length === 0) [current, queue] = [Buffer.from(queue), ''];
        if (current.length === 0) return;
        current = current.subarray(writeSync(fd, current));
      }
    } catch (error) {
      failure = error as NodeJS.ErrnoException;
      if (!isSlow(failure)) onFailure?.(failure.message);
      writeLater();
    }
  }

  function writeLater(): void {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(() => {
      isScheduled = false;
      writeQueued();
    }, DELAY_MS).unref();
  }

  return {
    /** Queues a line, including its line feed, or drops it if the queue is full. */
    write(line: string): void {
      if (current.length + queue.length + line.length > QUEUED_LENGTH_MAX) {
        onFailure?.(failure === undefined || isSlow(failure) ? 'its reader or disk is too slow' : failure.message);
        return;
      }
      queue += line;
      if (failure === undefined && queue.length >= group) writeQueued();
      else writeLater();
    },
    /** Writes the queued lines within 250 ms: for the end of the process. */
    flush(): void {
      const end = performance.now() + FLUSH_MS_MAX;
      writeQueued();
      while (failure !== undefined && isSlow(failure) && performance.now() < end) {
        // This blocks the thread, and with it the event loop.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DELAY_MS);
        writeQueued();
      }
    },
  };
}

const isSlow = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN';

/**
 * Reopens a pipe or terminal as a non-blocking descriptor that only this process has. Node.js makes its own stdout
 * non-blocking, but every process that has the pipe shares that flag, and npm resets it when it exits. A file is
 * used as it is, since all processes that write to it must share its offset; so is a socket, which cannot be reopened.
 */
function nonBlocking(fd: number): number {
  if (!fstatSync(fd).isFIFO() && !isatty(fd)) return fd;
  try {
    return openSync(`/dev/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}
