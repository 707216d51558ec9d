import { fstatSync, write, writeSync } from 'node:fs';
import { blockFor } from './block-for.ts';
import { nonBlocking } from './non-blocking.ts';

/** Milliseconds that lines wait at most before they are written. */
const DELAY = 100;

/** Milliseconds until the next attempt after one that failed: from the first to the last, doubled each time. */
const RETRY = { first: 1, last: 100 };

/**
 * Characters that wait at most. A reader or disk that pauses must not cost lines: this is what the busiest service logs in
 * 0.8 s. While writes fail, perhaps for hours, a little is enough.
 */
const MOST_WAITING = { slow: 4_194_304, broken: 16_384 };

/** Milliseconds that the end of the process may wait for a slow reader, and between two attempts then. */
const PATIENCE_AT_END = 250;
const PAUSE_AT_END = 5;

/** Writes lines to a stream, and neither waits for its reader nor fails. */
export interface LineWriter {
  /** Takes a line, which ends with its line feed, or drops it if too much is waiting. */
  write(line: string): void;
  /** Writes what waits, if it can within 250 ms, before it returns: for the end of the process. */
  flush(): void;
}

interface Options {
  /** Characters that are gathered before they are written, since a system call for each line would cost too much. */
  readonly group: number;
  /** Called for each line that is dropped. */
  readonly onDrop?: () => void;
  /** Called with the reason whenever a write has failed or a line is dropped. */
  readonly onTrouble?: (reason: string) => void;
}

/**
 * Lines on stdout or stderr that cannot stop the process: not on a full disk, not with a reader that stalls or leaves,
 * not on a terminal that is held with Ctrl-S. What could not be written is tried again. Only whole lines are dropped.
 */
export function lineWriter(stream: { readonly fd: number }, { group, onDrop, onTrouble }: Options): LineWriter {
  const fd = nonBlocking(stream.fd);
  // Files know no non-blocking writes: a thread waits for the disk.
  const byThread = fstatSync(fd).isFile();
  let waiting = '';
  let begun: Buffer = Buffer.alloc(0);
  let writing = false;
  let blocked = false;
  /** Why the last attempt failed, unless the reader is only slow. */
  let broken: string | undefined;
  let retry = RETRY.first;
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
    if (begun.length === 0) takeWaiting();
    if (begun.length === 0) return;
    writing = true;
    if (byThread) write(fd, begun, written);
    else writeNow();
  }

  function writeNow(): void {
    let bytes = 0;
    let failure: NodeJS.ErrnoException | null = null;
    try {
      bytes = writeSync(fd, begun);
    } catch (error) {
      failure = error as NodeJS.ErrnoException;
    }
    written(failure, bytes);
  }

  function takeWaiting(): void {
    begun = Buffer.concat([begun, Buffer.from(waiting)]);
    waiting = '';
  }

  function written(error: NodeJS.ErrnoException | null, bytes: number): void {
    writing = false;
    blocked = error !== null;
    broken = error === null || isSlow(error) ? undefined : error.message;
    if (broken !== undefined) onTrouble?.(broken);
    if (blocked) {
      schedule(retry);
      retry = Math.min(2 * retry, RETRY.last);
      return;
    }
    retry = RETRY.first;
    begun = begun.subarray(bytes);
    if (begun.length > 0 || waiting.length >= group) writeGroup();
  }

  function drop(): void {
    onDrop?.();
    onTrouble?.(broken ?? 'its reader or disk is too slow');
  }

  return {
    write(line) {
      const most = broken === undefined ? MOST_WAITING.slow : MOST_WAITING.broken;
      if (begun.length + waiting.length + line.length > most) return drop();
      waiting += line;
      if (waiting.length >= group && !writing && !blocked) writeGroup();
      else if (timer === undefined) schedule(DELAY);
    },
    flush() {
      // A write that a thread has started completes: Node.js waits for its threads.
      if (writing) begun = Buffer.alloc(0);
      takeWaiting();
      const end = performance.now() + PATIENCE_AT_END;
      while (begun.length > 0) {
        try {
          begun = begun.subarray(writeSync(fd, begun));
        } catch (error) {
          if (!isSlow(error as NodeJS.ErrnoException) || performance.now() > end) return;
          blockFor(PAUSE_AT_END);
        }
      }
    },
  };
}

const isSlow = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN';
