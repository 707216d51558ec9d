import type { DatabaseSync } from 'node:sqlite';
import { failureOf, tooLate, toPortError } from './failures.ts';

interface Job {
  readonly work: () => unknown;
  readonly size: number;
  readonly until: number;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
  readonly queue: Job[];
}

interface WriteOptions {
  /** UTF-16 units of text. */
  readonly size?: number | undefined;
  /** When it is given up unless it has begun, as performance.now() counts. */
  readonly until?: number | undefined;
  /** Whether others go first. */
  readonly isBackground?: boolean | undefined;
}

interface GroupOptions {
  /** Milliseconds until work is given up that has no time of its own. */
  readonly timeout: number;
  /** Throws while the file must not be used. */
  readonly check: () => void;
  /** Called after each transaction. */
  readonly onEnd: () => void;
  /** Called with each failure of a statement. */
  readonly onFailure: (error: unknown) => void;
  /** Called when it is not known what is on the disk. From then on `check` must throw. */
  readonly onLostSync: (error: unknown) => void;
}

/**
 * What a group takes of the foreground, and then of the background, which gets what is left, too: UTF-16 units of text and
 * milliseconds, and at least one write of each.
 */
const SHARES = { foreground: { text: 768 * 1024, time: 4 }, background: { text: 256 * 1024, time: 1 } };

/** Milliseconds until a group is tried again while another process writes. */
const BUSY_PAUSE = 5;

/**
 * Collects writes: those that arrive in one turn of the event loop, or the next, share a transaction and its fsync. If one of
 * them fails, the transaction is rolled back, and the others go into the next one.
 */
export function writeGroups(sql: DatabaseSync, options: GroupOptions) {
  const { timeout, check, onEnd, onFailure, onLostSync } = options;
  const foreground: Job[] = [];
  const background: Job[] = [];
  const queues = [foreground, background];
  let isScheduled = false;
  const run = (text: string) => {
    const statement = sql.prepare(text);
    return () => statement.run();
  };
  const [begin, commit, rollback] = [run('begin immediate'), run('commit'), run('rollback')];

  function schedule(): void {
    if (isScheduled || queues.every((queue) => queue.length === 0)) return;
    isScheduled = true;
    // The sockets are polled once more first: 64 requests and their responses in one turn would keep others waiting for 20 ms.
    setImmediate(setImmediate, runGroup);
  }

  function runGroup(): void {
    isScheduled = false;
    try {
      check();
      begin();
    } catch (error) {
      if (failureOf(error).isBusy) waitForOthers(error);
      else failAll(error);
      return;
    }
    const group: Job[] = [];
    let isCommitting = false;
    try {
      const settle = runJobs(group);
      isCommitting = true;
      commit();
      for (const one of settle) one();
    } catch (error) {
      if (sql.isTransaction) rollback();
      onFailure(error);
      const { isLostSync, isNotCommitted } = failureOf(error);
      if (isLostSync || (isCommitting && !isNotCommitted)) onLostSync(error);
      const failed = group.splice(isLostSync || isCommitting ? 0 : -1);
      for (const { reject } of failed) reject(toPortError(error));
      for (const job of group.reverse()) job.queue.unshift(job);
    }
    onEnd();
    schedule();
  }

  /** @returns what is to be called once it is committed. @throws what the last one of the group throws */
  function runJobs(group: Job[]): (() => void)[] {
    const settle: (() => void)[] = [];
    let room = 0;
    let end = performance.now();
    for (const queue of queues) {
      const share = queue === foreground ? SHARES.foreground : SHARES.background;
      room += share.text;
      end = Math.max(end, performance.now()) + share.time;
      for (let isFirst = true; queue[0] !== undefined; isFirst = false) {
        const [job] = queue;
        if (!isFirst && (job.size > room || performance.now() >= end)) break;
        queue.shift();
        room -= job.size;
        group.push(job);
        settle.push(runJob(job));
      }
    }
    return settle;
  }

  function runJob({ work, until, resolve, reject }: Job): () => void {
    if (performance.now() >= until) return () => reject(tooLate());
    const outcome = work();
    return () => resolve(outcome as never);
  }

  function failAll(error: unknown): void {
    onFailure(error);
    for (const queue of queues) for (const { reject } of queue.splice(0)) reject(toPortError(error));
  }

  function waitForOthers(error: unknown): void {
    const now = performance.now();
    for (const queue of queues) {
      const late = queue.filter(({ until }) => until <= now);
      const others = queue.filter(({ until }) => until > now);
      queue.splice(0, queue.length, ...others);
      for (const { reject } of late) reject(tooLate(error));
    }
    if (queues.every((queue) => queue.length === 0)) return;
    isScheduled = true;
    setTimeout(runGroup, BUSY_PAUSE);
  }

  return {
    /** @param work statements that take no longer than some milliseconds; resolves to its result once that is durable */
    write<T>(work: () => T, { size = 0, until, isBackground = false }: WriteOptions = {}): Promise<T> {
      return new Promise((resolve, reject) => {
        const queue = isBackground ? background : foreground;
        queue.push({ work, size, until: until ?? performance.now() + timeout, resolve, reject, queue });
        schedule();
      });
    },
    /** Writes that have not begun. */
    waiting: () => foreground.length,
  };
}
