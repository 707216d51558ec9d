import { setTimeout as delay } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Dialect, Failure, Session, SqlDatabase, Statements } from './dialect.ts';
import { lane, OVERDUE, unavailable } from './lane.ts';

/** Rejects while migrations are pending; then says which dialect the database has: at once, while that is known. */
export type Gate = () => Dialect | Promise<Dialect>;

interface RunnerOptions {
  readonly gate: Gate;
  /** The same for writes, which may have to wait for more. */
  readonly writeGate?: Gate;
  /** Milliseconds until work is given up that has no deadline of its own. */
  readonly timeout: number;
  /** Called with the error of each attempt that fails. */
  readonly onFailure?: (error: unknown) => void;
  /** Adds what operators can do, who read it in the log, to an error after which the store is unavailable. */
  readonly withAdvice?: (error: unknown) => unknown;
  /** Milliseconds to wait after a transient failure: twice as long after each, from the first to the last of these. */
  readonly pause?: { readonly first: number; readonly longest: number };
}

/** How work ended that was not done. */
export interface FailedAttempt {
  /** What the caller is told: PlantStoreError `store_unavailable`, or a defect. */
  readonly error: unknown;
  readonly failure: Failure;
  /** Whether the last two attempts have reached the time limit of a statement. */
  readonly isSlowAgain: boolean;
  /** Whether one of the attempts may have succeeded, or may still do so. */
  readonly isUncertain: boolean;
}

interface RetryOptions {
  /** When to give up, as performance.now() counts. */
  readonly until?: number | undefined;
  /** Whether to try again after this failure if it is transient. */
  readonly mayRepeat?: (failed: FailedAttempt) => boolean;
}

/**
 * Which connections work may use. The feed of changes has half of them, so that plants are read while its statements are
 * slow. The background has one of each kind: parts of streams, searches and pages of webhooks read there, imports write.
 */
export type LaneName = 'writes' | 'reads' | 'feed' | 'backgroundWrites' | 'backgroundReads';

/**
 * Does the work of statements, and repeats it after transient failures until the deadline. A hanging attempt has no other
 * end than its own.
 *
 * @param work gets whether an earlier attempt may have succeeded, or may still do so
 * @returns how it ended; it never rejects
 */
type ExecuteWithRetry = <T>(
  name: LaneName,
  work: (session: Session, isUncertain: boolean) => Promise<T>,
  options?: RetryOptions,
) => Promise<{ readonly result: T } | { readonly failed: FailedAttempt }>;

/**
 * The same, given up at its deadline; then it may run on.
 *
 * @throws PlantStoreError `store_unavailable` if it cannot be done now, or if it cannot be known whether it was done;
 * any other rejection is a defect
 */
export type Run = <T>(name: LaneName, work: (session: Session) => Promise<T>) => Promise<T>;

export interface Executor {
  readonly run: Run;
  readonly executeWithRetry: ExecuteWithRetry;
}

const PAUSE = { first: 50, longest: 1_000 };

/**
 * How many connections one kind of work in the foreground may use: it leaves one to the other kind, and one to the background,
 * so that reads go on though every write hangs. With one or two connections, that is not possible.
 */
export function foreground({ connections }: Pick<SqlDatabase, 'connections'>): number {
  return Math.max(1, Math.min(Math.ceil(0.75 * connections), connections - 2));
}

/** The only way to a statement for requests: migration gate, lane, retries, deadline and the translation of errors. */
export function runner(
  { sql, transaction, connections, failureOf }: SqlDatabase,
  { gate, writeGate = gate, timeout, onFailure, withAdvice = (error) => error, pause: pauses = PAUSE }: RunnerOptions,
): Executor {
  const most = foreground({ connections });
  const lanes = {
    writes: { enter: lane(most), gate: writeGate, transaction },
    reads: { enter: lane(most), gate, transaction: undefined },
    feed: { enter: lane(Math.ceil(connections / 2)), gate, transaction: undefined },
    backgroundWrites: { enter: lane(1), gate: writeGate, transaction },
    backgroundReads: { enter: lane(1), gate, transaction: undefined },
  };

  const executeWithRetry: ExecuteWithRetry = async (
    name,
    work,
    { until = performance.now() + timeout, mayRepeat = () => true } = {},
  ) => {
    const { enter, gate, transaction } = lanes[name];
    let isSlow = false;
    let isUncertain = false;
    for (let pause = pauses.first; ; pause = Math.min(2 * pause, pauses.longest)) {
      try {
        // Awaiting what is known would take a turn of the microtask queue, and memory, each time.
        const passed = gate();
        const dialect = passed instanceof Promise ? await passed : passed;
        // A transaction may have to wait for its turn beyond the deadline.
        const within = (sql: Statements, end?: number) =>
          performance.now() < until ? work({ sql, dialect, end }, isUncertain) : Promise.reject(OVERDUE);
        return { result: await enter(() => transaction?.(within) ?? work({ sql, dialect }, isUncertain), until) };
      } catch (thrown) {
        onFailure?.(thrown);
        const failure = failureOf(thrown);
        const error = toPortError(thrown, failure, withAdvice);
        const isSlowAgain = isSlow && failure.isStatementTimeout;
        isSlow = failure.isStatementTimeout;
        isUncertain ||= failure.isOutcomeUnknown;
        const failed = { error, failure, isSlowAgain, isUncertain };
        const isRepeated = failure.means === 'transient' && mayRepeat(failed);
        if (!isRepeated || performance.now() + pause >= until) return { failed };
        await delay(pause);
      }
    }
  };

  async function resultOf<T>(name: LaneName, work: (session: Session) => Promise<T>): Promise<T> {
    const outcome = await executeWithRetry(name, work);
    if ('failed' in outcome) throw outcome.failed.error;
    return outcome.result;
  }
  return { executeWithRetry, run: (name, work) => withDeadline(resultOf(name, work), timeout) };
}

/** Translates a failure of the database into the rejection that the port promises. */
function toPortError(error: unknown, { means, isDiskFull }: Failure, withAdvice: (error: unknown) => unknown): unknown {
  if (error instanceof PlantStoreError || means === 'defect' || means === 'refused') return error;
  const why = isDiskFull ? 'has no disk space left: its operators must make room' : 'is unavailable';
  return new PlantStoreError('store_unavailable', `the store ${why}`, { cause: withAdvice(error) });
}

/** Rejects with PlantStoreError `store_unavailable` after so many milliseconds. */
export function withDeadline<T>(promise: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unavailable(`no outcome within ${milliseconds} ms`)), milliseconds);
    promise.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
