import { setTimeout as delay } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Dialect, Session, SqlDatabase, StatementFailure } from './dialect.ts';
import { lane, OVERDUE, unavailable } from './lane.ts';

/** Returns the dialect of the database, at once while it is known. Rejects while migrations are pending. */
export type Gate = () => Dialect | Promise<Dialect>;

interface RunnerOptions {
  readonly gate: Gate;
  /** The same for writes, which may have to wait for more. */
  readonly writeGate?: Gate;
  /** Milliseconds until work without a deadline of its own is given up. */
  readonly timeout: number;
  /** Called with the error of each attempt that fails. */
  readonly onFailure?: (error: unknown) => void;
  /** Milliseconds to wait after a transient failure. Each wait is twice as long as the one before, up to the longest. */
  readonly pauses?: { readonly first: number; readonly longest: number };
}

/** Why the last attempt at some work has failed. */
export interface WorkFailure extends StatementFailure {
  /** What the caller is told: PlantStoreError `store_unavailable`, or a defect. */
  readonly error: unknown;
  /** Whether the last two attempts have reached the time limit of a statement. */
  readonly isSlowAgain: boolean;
  /** Whether one of the attempts may have succeeded, or may still do so. */
  readonly isUncertain: boolean;
}

/**
 * The lanes, each of which may use some of the connections. The log of changes has half of them, so that plants can be read
 * while its statements are slow. The background has one connection for parts of streams and searches, and one for imports.
 */
export type LaneName = 'writes' | 'reads' | 'log' | 'backgroundWrites' | 'backgroundReads';

/**
 * Does work. At the deadline the call is given up, though the work may still run.
 *
 * @throws PlantStoreError `store_unavailable` if it cannot be done now, or if it cannot be known whether it was done;
 * any other rejection is a defect
 */
export type Run = <T>(name: LaneName, work: (session: Session) => Promise<T>) => Promise<T>;

export interface Executor {
  readonly run: Run;
  /**
   * Does work, and repeats it after transient failures until the deadline. An attempt that hangs is not interrupted: the
   * database and the connection have limits of their own. It never rejects.
   *
   * @param work gets whether an earlier attempt may have succeeded, or may still do so
   * @param options `until`, when to give up, as performance.now() counts; and whether to try again after a transient failure
   */
  executeWithRetry<T>(
    name: LaneName,
    work: (session: Session, isUncertain: boolean) => Promise<T>,
    options?: { readonly until?: number | undefined; readonly mayRepeat?: (failure: WorkFailure) => boolean },
  ): Promise<{ readonly result: T } | { readonly failure: WorkFailure }>;
}

const PAUSES_MS = { first: 50, longest: 1_000 };

/**
 * Returns how many connections the reads, or the writes, of requests may use. They leave one to each other and one to the
 * background, so that reads go on even if every write hangs. With one or two connections, that is not possible.
 */
export function foreground({ connections }: Pick<SqlDatabase, 'connections'>): number {
  return Math.max(1, Math.min(Math.ceil(0.75 * connections), connections - 2));
}

/** The only way to a statement for requests: migration gate, lane, retries, deadline and the translation of errors. */
export function runner(database: SqlDatabase, options: RunnerOptions): Executor {
  const { connections, failureOf, withAdvice } = database;
  const { gate, writeGate = gate, timeout, onFailure, pauses = PAUSES_MS } = options;
  const most = foreground(database);
  const lanes = {
    writes: lane(most),
    reads: lane(most),
    log: lane(Math.ceil(connections / 2)),
    backgroundWrites: lane(1),
    backgroundReads: lane(1),
  };

  const executeWithRetry: Executor['executeWithRetry'] = async (
    name,
    work,
    { until = performance.now() + timeout, mayRepeat = () => true } = {},
  ) => {
    const isWrite = name === 'writes' || name === 'backgroundWrites';
    let isSlow = false;
    let isUncertain = false;

    function attempt(dialect: Dialect) {
      if (!isWrite || database.transaction === undefined) return work({ sql: database.sql, dialect }, isUncertain);
      return database.transaction((sql, end) => {
        // It may have had to wait for its turn beyond the deadline.
        if (performance.now() >= until) throw OVERDUE;
        return work({ sql, dialect, transaction: { end } }, isUncertain);
      });
    }

    for (let pause = pauses.first; ; pause = Math.min(2 * pause, pauses.longest)) {
      try {
        const answer = isWrite ? writeGate() : gate();
        // To await a dialect that is known would take a turn of the microtask queue, and memory, each time.
        const dialect = answer instanceof Promise ? await answer : answer;
        return { result: await lanes[name](() => attempt(dialect), until) };
      } catch (reason) {
        onFailure?.(reason);
        const last = failureOf(reason);
        const error = toPortError(reason, last, withAdvice);
        isUncertain ||= last.isOutcomeUnknown;
        const failure = { ...last, error, isSlowAgain: isSlow && last.isStatementTimeout, isUncertain };
        isSlow = last.isStatementTimeout;
        const isRepeated = last.means === 'transient' && mayRepeat(failure);
        if (!isRepeated || performance.now() + pause >= until) return { failure };
        await delay(pause);
      }
    }
  };

  async function resultOf<T>(name: LaneName, work: (session: Session) => Promise<T>): Promise<T> {
    const outcome = await executeWithRetry(name, work);
    if ('failure' in outcome) throw outcome.failure.error;
    return outcome.result;
  }
  return { executeWithRetry, run: (name, work) => withDeadline(resultOf(name, work), timeout) };
}

/** Translates a failure of the database into the rejection that the port promises. */
function toPortError(
  error: unknown,
  { means, isDiskFull }: StatementFailure,
  withAdvice: SqlDatabase['withAdvice'],
): unknown {
  if (error instanceof PlantStoreError || means === 'defect' || means === 'refused') return error;
  const why = isDiskFull ? 'the store has no disk space left: its operators must make room' : undefined;
  return new PlantStoreError('store_unavailable', why, { cause: withAdvice(error) });
}

/** Rejects with PlantStoreError `store_unavailable` after so many milliseconds. */
export function withDeadline<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable(`no outcome within ${milliseconds} ms`)), milliseconds);
    promise.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
