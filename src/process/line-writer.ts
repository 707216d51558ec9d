import { fstatSync, write, writeSync } from 'node:fs';
import { blockFor } from './block-for.ts';
import { nonBlocking } from './non-blocking.ts';

/** Milliseconds after which queued lines are written even if the group is not full. */
const DELAY = 100;

/** Milliseconds until a failed write is retried: the first delay, which doubles with each failure, and the longest. */
const RETRY_DELAY = { first: 1, longest: 100 };

/**
 * Characters queued at most. A reader or disk that pauses must not cost lines: `slow` is what the busiest service logs
 * in 0.8 s. While writes fail, perhaps for hours, less is enough.
 */
const MAX_QUEUED = { slow: 4_194_304, broken: 16_384 };

/** Milliseconds that the end of the process waits for a slow reader, and between attempts while it does. */
const FLUSH_TIMEOUT = 250;
const FLUSH_RETRY_DELAY = 5;

/** Writes lines to a stream. It never throws, and only `flush` waits for the reader. */
export interface LineWriter {
  /** Queues a line, including its line feed, or drops it if the queue is full. */
  write(line: string): void;
  /** Writes the queued lines synchronously, within 250 ms: for the end of the process. */
  flush(): void;
}

/**
 * Bytes that a pipe takes whole or not at all, so that the lines of several writers do not mix: Linux's PIPE_BUF. POSIX
 * guarantees 512.
 */
export const ATOMIC_WRITE = 4_096;

const LINE_FEED = 0x0a;

interface Options {
  /** Characters to collect before writing, since a system call for each line would cost too much. */
  readonly group: number;
  /** Whether other processes write to the stream too: each write is then whole lines of ATOMIC_WRITE bytes at most. */
  readonly isShared?: boolean;
  /** Called for each dropped line. */
  readonly onDrop?: () => void;
  /** Called with the reason whenever a write fails or a line is dropped. */
  readonly onFailure?: (reason: string) => void;
}

/**
 * Writes lines to stdout or stderr so that nothing can stop the process: neither a full disk, nor a reader that stalls
 * or exits, nor a terminal paused with Ctrl-S. Failed writes are retried; only whole lines are dropped.
 */
export function lineWriter(
  stream: { readonly fd: number },
  { group, isShared = false, onDrop, onFailure }: Options,
): LineWriter {
  const fd = nonBlocking(stream.fd);
  // Files have no non-blocking writes, so a thread waits for the disk.
  const byThread = fstatSync(fd).isFile();
  let queued = '';
  let current: Buffer = Buffer.alloc(0);
  let writing = false;
  let blocked = false;
  /** Why the last attempt failed, unless the reader is only slow. */
  let broken: string | undefined;
  let retry = RETRY_DELAY.first;
  let timer: NodeJS.Timeout | undefined;

  function schedule(milliseconds: number): void {
    clearTimeout(timer);
    timer = setTimeout(attempt, milliseconds).unref();
  }

  function attempt(): void {
    timer = undefined;
    if (writing) schedule(DELAY);
    else writeGroup();
  }

  function writeGroup(): void {
    do {
      if (current.length === 0) takeQueued();
      if (current.length === 0) return;
      writing = true;
      if (byThread) {
        write(fd, current, writtenByThread);
        return;
      }
      writeNow();
    } while (!blocked && hasMore());
    scheduleRest();
  }

  /** What came while the reader was slow may be less than a group. */
  function scheduleRest(): void {
    if (queued.length > 0 && timer === undefined) schedule(DELAY);
  }

  function writeNow(): void {
    let bytes = 0;
    let failure: NodeJS.ErrnoException | null = null;
    try {
      bytes = writeSync(fd, nextWrite());
    } catch (error) {
      failure = error as NodeJS.ErrnoException;
    }
    written(failure, bytes);
  }

  function writtenByThread(error: NodeJS.ErrnoException | null, bytes: number): void {
    written(error, bytes);
    if (!blocked && hasMore()) writeGroup();
    else scheduleRest();
  }

  const hasMore = () => current.length > 0 || queued.length >= group;

  /** Never all of a line that is longer than an atomic write: nothing keeps others from writing within that one. */
  function nextWrite(): Buffer {
    if (!isShared || byThread || current.length <= ATOMIC_WRITE) return current;
    const end = current.lastIndexOf(LINE_FEED, ATOMIC_WRITE - 1) + 1;
    return current.subarray(0, end === 0 ? ATOMIC_WRITE : end);
  }

  function takeQueued(): void {
    current = Buffer.concat([current, Buffer.from(queued)]);
    queued = '';
  }

  function written(error: NodeJS.ErrnoException | null, bytes: number): void {
    writing = false;
    blocked = error !== null;
    broken = error === null || isSlow(error) ? undefined : error.message;
    if (broken !== undefined) onFailure?.(broken);
    if (blocked) {
      schedule(retry);
      retry = Math.min(2 * retry, RETRY_DELAY.longest);
      return;
    }
    retry = RETRY_DELAY.first;
    current = current.subarray(bytes);
  }

  function drop(): void {
    onDrop?.();
    onFailure?.(broken ?? 'its reader or disk is too slow');
  }

  return {
    write(line) {
      const max = broken === undefined ? MAX_QUEUED.slow : MAX_QUEUED.broken;
      if (current.length + queued.length + line.length > max) return drop();
      queued += line;
      if (queued.length >= group && !writing && !blocked) writeGroup();
      else if (timer === undefined) schedule(DELAY);
    },
    flush() {
      // A write already handed to a thread completes by itself: Node.js waits for its threads.
      if (writing) current = Buffer.alloc(0);
      takeQueued();
      const end = performance.now() + FLUSH_TIMEOUT;
      while (current.length > 0) {
        try {
          current = current.subarray(writeSync(fd, nextWrite()));
        } catch (error) {
          if (!isSlow(error as NodeJS.ErrnoException) || performance.now() > end) return;
          blockFor(FLUSH_RETRY_DELAY);
        }
      }
    },
  };
}

const isSlow = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN';
