import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { blockFor } from './block-for.ts';

/** Milliseconds after which queued lines are written, and a failed write is tried again. */
const DELAY = 10;

/** Characters queued at most, so that a reader or disk that pauses costs no lines: what the busiest service logs in 0.8 s. */
const MAX_QUEUED = 4 * 1024 ** 2;

/** Milliseconds that the end of the process waits for a slow reader. */
const FLUSH_TIMEOUT = 250;

/**
 * Bytes that a pipe takes whole or not at all, so that the lines of several processes do not mix: Linux's PIPE_BUF. POSIX
 * guarantees 512.
 */
export const ATOMIC_WRITE = 4_096;

const LINE_FEED = 0x0a;

interface Options {
  /** Characters to collect before writing, or 0, since a system call for each line would cost too much. */
  readonly group: number;
  /** Called for each dropped line. */
  readonly onDrop?: () => void;
  /** Called with the reason whenever a write fails or a line is dropped. */
  readonly onFailure?: (reason: string) => void;
}

/**
 * Writes lines to stdout or stderr so that neither a full disk nor a reader that stalls or exits can stop the process.
 * Failed writes are retried, and only whole lines are dropped. Each write is whole lines of at most ATOMIC_WRITE bytes.
 * It never throws, and only `flush` waits for the reader.
 */
export function lineWriter(stream: { readonly fd: number }, { group, onDrop, onFailure }: Options) {
  const fd = nonBlocking(stream.fd);
  let queued = '';
  /** Lines taken from the queue, without what has been written of them. */
  let current: Buffer = Buffer.alloc(0);
  /** Why the last write failed. */
  let failure: NodeJS.ErrnoException | undefined;
  let isScheduled = false;

  function writeQueued(): void {
    failure = undefined;
    try {
      for (;;) {
        if (current.length === 0) [current, queued] = [Buffer.from(queued), ''];
        if (current.length === 0) return;
        current = current.subarray(writeSync(fd, firstLines(current)));
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
    }, DELAY).unref();
  }

  return {
    /** Queues a line, including its line feed, or drops it if the queue is full. */
    write(line: string): void {
      if (current.length + queued.length + line.length > MAX_QUEUED) {
        onDrop?.();
        onFailure?.(failure === undefined || isSlow(failure) ? 'its reader or disk is too slow' : failure.message);
        return;
      }
      const mayWrite = failure === undefined;
      if (mayWrite && queued.length + line.length > group) writeQueued();
      queued += line;
      if (mayWrite && queued.length >= group) writeQueued();
      else writeLater();
    },
    /** Writes the queued lines within 250 ms: for the end of the process. */
    flush(): void {
      const end = performance.now() + FLUSH_TIMEOUT;
      writeQueued();
      while (failure !== undefined && isSlow(failure) && performance.now() < end) {
        blockFor(DELAY);
        writeQueued();
      }
    },
  };
}

/** Never all of a line that is longer than an atomic write: others could write within that one. */
function firstLines(lines: Buffer): Buffer {
  if (lines.length <= ATOMIC_WRITE) return lines;
  const end = lines.lastIndexOf(LINE_FEED, ATOMIC_WRITE - 1) + 1;
  return lines.subarray(0, end === 0 ? ATOMIC_WRITE : end);
}

const isSlow = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN';

/**
 * Reopens a pipe or terminal as a non-blocking descriptor that only this process has. Node.js makes its own stdout
 * non-blocking, but every process that has the pipe shares that flag, and one that exits (npm) resets it. A file is
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
