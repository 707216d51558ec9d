import { setTimeout as delay } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Dialect, Session, SqlDatabase, StatementFailure, Statements } from './dialect.ts';
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
  /** Milliseconds to wait after a transient failure: twice as long after each, from the first to the last of these. */
  readonly pause?: { readonly first: number; readonly longest: number };
}

/** Why work was not done, by its last attempt. */
export interface WorkFailure extends StatementFailure {
  /** What the caller is told: PlantStoreError `store_unavailable`, or a defect. */
  readonly error: unknown;
  /** Whether the last two attempts have reached the time limit of a statement. */
  readonly isSlowAgain: boolean;
  /** Whether one of the attempts may have succeeded, or may still do so. */
  readonly isUncertain: boolean;
}

interface RetryOptions {
  /** When to give up, as performance.now() counts. */
  readonly until?: number | undefined;
  /** Whether to try again after this failure if it is transient. */
  readonly mayRepeat?: (failure: WorkFailure) => boolean;
}

/**
 * Which connections work may use. The log of changes has half of them, so that plants are read while its statements are
 * slow. The background has one of each kind: parts of streams and searches read there, imports write.
 */
export type LaneName = 'writes' | 'reads' | 'log' | 'backgroundWrites' | 'backgroundReads';

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
) => Promise<{ readonly result: T } | { readonly failure: WorkFailure }>;

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
  { sql, transaction, connections, failureOf, withAdvice }: SqlDatabase,
  { gate, writeGate = gate, timeout, onFailure, pause: pauses = PAUSE }: RunnerOptions,
): Executor {
  const most = foreground({ connections });
  const lanes = {
    writes: { enter: lane(most), gate: writeGate, transaction },
    reads: { enter: lane(most), gate, transaction: undefined },
    log: { enter: lane(Math.ceil(connections / 2)), gate, transaction: undefined },
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
        const within = (sql: Statements, end: number) =>
          performance.now() < until
            ? work({ sql, dialect, transaction: { end } }, isUncertain)
            : Promise.reject(OVERDUE);
        return { result: await enter(() => transaction?.(within) ?? work({ sql, dialect }, isUncertain), until) };
      } catch (thrown) {
        onFailure?.(thrown);
        const last = failureOf(thrown);
        const error = toPortError(thrown, last, withAdvice);
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
