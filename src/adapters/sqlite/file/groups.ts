import type { DatabaseSync } from 'node:sqlite';
import { failureOf, tooLate, toPortError } from './failures.ts';

interface Job {
  readonly work: () => unknown;
  readonly size: number;
  readonly until: number;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
  isAlone: boolean;
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
  /** Called with each failure of a transaction that is not repeated. */
  readonly onFailure: (error: unknown) => void;
  /** Called when it is not known what is on the disk. From then on `check` must throw. */
  readonly onLostSync: (error: unknown) => void;
}

/** UTF-16 units of text in a group, unless its first write has more. */
const GROUP_TEXT = 1024 ** 2;

/** Milliseconds after which a group takes no more. */
const GROUP_TIME = 5;

/** Milliseconds until a group is tried again while another process writes. */
const BUSY_PAUSE = 5;

/**
 * Collects writes: those that arrive in one turn of the event loop, or the next, share a transaction and its fsync. If one of
 * them fails, none is done, and each is repeated in a transaction of its own, so that the failure concerns only that one.
 */
export function writeGroups(sql: DatabaseSync, options: GroupOptions) {
  const { timeout, check, onEnd, onFailure, onLostSync } = options;
  const queues: readonly [foreground: Job[], background: Job[]] = [[], []];
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
      const { isLostSync, isNotCommitted } = failureOf(error);
      // A commit that failed in any other way has done nothing.
      const isLost = isLostSync || (isCommitting && !isNotCommitted);
      if (isLost) onLostSync(error);
      if (isLost || isCommitting || group.length === 1) {
        onFailure(error);
        for (const { reject } of group) reject(toPortError(error));
      } else {
        for (const job of group) job.isAlone = true;
        queues[0].unshift(...group);
      }
    }
    onEnd();
    schedule();
  }

  /** @returns what is to be called once it is committed. @throws what one of them throws */
  function runJobs(group: Job[]): (() => void)[] {
    const settle: (() => void)[] = [];
    const end = performance.now() + GROUP_TIME;
    let size = 0;
    for (const queue of queues) {
      for (let job = queue[0]; job !== undefined; job = queue[0]) {
        size += job.size;
        const [first] = group;
        if (first && (first.isAlone || size > GROUP_TEXT || performance.now() >= end)) return settle;
        queue.shift();
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
        const job = { work, size, until: until ?? performance.now() + timeout, resolve, reject, isAlone: false };
        queues[isBackground ? 1 : 0].push(job);
        schedule();
      });
    },
    /** Writes that have not begun. */
    waiting: () => queues[0].length,
  };
}
