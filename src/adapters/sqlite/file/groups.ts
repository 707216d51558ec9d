import type { DatabaseSync } from 'node:sqlite';
import { toPortError } from '../../sql/failures.ts';
import { failureOf, tooLate } from './failures.ts';

interface Job {
  readonly work: () => unknown;
  readonly until: number;
  readonly resolve: (outcome: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes that wait, and the milliseconds that they have of a group: at least one of them is in it. */
interface Lane {
  readonly jobs: Job[];
  readonly time: number;
}

/** The writes of a transaction, each with what is to be called once it is committed. */
type Group = Map<Job, () => void>;

interface WriteOptions {
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

/** Milliseconds until a group is tried again while another process writes. */
const BUSY_PAUSE = 5;

/**
 * Collects writes: those that arrive in one turn of the event loop, or the next, share a transaction and its fsync. If one of
 * them fails, it is rolled back, and those before the failing one are repeated without it.
 */
export function writeGroups(sql: DatabaseSync, { timeout, check, onEnd, onFailure, onLostSync }: GroupOptions) {
  const foreground: Lane = { jobs: [], time: 4 };
  const background: Lane = { jobs: [], time: 1 };
  const lanes = [foreground, background];
  let isScheduled = false;
  const run = (text: string) => {
    const statement = sql.prepare(text);
    return () => statement.run();
  };
  const [begin, commit, rollback] = [run('begin immediate'), run('commit'), run('rollback')];

  function schedule(): void {
    if (isScheduled || lanes.every(({ jobs }) => jobs.length === 0)) return;
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
    const group: Group = new Map();
    let isCommitting = false;
    try {
      fill(group);
      isCommitting = true;
      commit();
      for (const settle of group.values()) settle();
    } catch (error) {
      if (sql.isTransaction) rollback();
      onFailure(error);
      const { isLostSync, isNotCommitted } = failureOf(error);
      if (isLostSync || (isCommitting && !isNotCommitted)) onLostSync(error);
      for (const { reject } of group.keys()) reject(toPortError(error, failureOf(error)));
    }
    onEnd();
    schedule();
  }

  /** Takes writes from the lanes, and runs them. @throws what no transaction can follow */
  function fill(group: Group): void {
    let end = performance.now();
    for (const { jobs, time } of lanes) {
      end = Math.max(end, performance.now()) + time;
      for (let isFirst = true; jobs[0] !== undefined; isFirst = false) {
        if (!isFirst && performance.now() >= end) break;
        const job = jobs.shift() as Job;
        for (let isDone = runJob(job, group); !isDone; isDone = [...group.keys()].every((one) => runJob(one, group))) {
          if (sql.isTransaction) rollback();
          begin();
        }
      }
    }
  }

  /** @returns false if it has failed, is rejected and is not in the group any more */
  function runJob(job: Job, group: Group): boolean {
    const { work, until, resolve, reject } = job;
    group.set(job, () => reject(tooLate()));
    if (performance.now() >= until) return true;
    try {
      const outcome = work();
      group.set(job, () => resolve(outcome as never));
      return true;
    } catch (error) {
      if (failureOf(error).isLostSync) throw error;
      onFailure(error);
      reject(toPortError(error, failureOf(error)));
      return !group.delete(job);
    }
  }

  function failAll(error: unknown): void {
    onFailure(error);
    for (const { jobs } of lanes) for (const { reject } of jobs.splice(0)) reject(toPortError(error, failureOf(error)));
  }

  function waitForOthers(error: unknown): void {
    const now = performance.now();
    for (const { jobs } of lanes) {
      for (const job of jobs.splice(0)) {
        if (job.until > now) jobs.push(job);
        else job.reject(tooLate(error));
      }
    }
    isScheduled = lanes.some(({ jobs }) => jobs.length > 0);
    if (isScheduled) setTimeout(runGroup, BUSY_PAUSE);
  }

  return {
    /** @param work statements that take no longer than some milliseconds; resolves to its result once that is durable */
    write<T>(work: () => T, { until, isBackground = false }: WriteOptions = {}): Promise<T> {
      return new Promise((resolve, reject) => {
        const job = { work, until: until ?? performance.now() + timeout, resolve, reject };
        (isBackground ? background : foreground).jobs.push(job);
        schedule();
      });
    },
  };
}
