import { setTimeout as delay } from 'node:timers/promises';
import type { Dialect, Session, SqlDatabase, Statements } from './dialect.ts';
import { toPortError, unavailable } from './failures.ts';

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

export interface RunOptions {
  /** When to give up, as performance.now() counts. */
  readonly until?: number | undefined;
  /** Called with the error of each attempt: whether to try again if it is transient. Yes, if it is not given. */
  readonly mayRepeat?: (error: unknown) => boolean;
}

/**
 * Which connections work may use. The feed of changes has half of them, so that plants are read while its statements are
 * slow. The background has one of each kind: parts of streams, searches and pages of webhooks read there, imports write.
 */
export type LaneName = 'writes' | 'reads' | 'feed' | 'backgroundWrites' | 'backgroundReads';

/**
 * Does the work of statements, and repeats it after transient failures until the deadline. Work that is given up may run on.
 *
 * @throws PlantStoreError `store_unavailable` if it cannot be done now, or if it cannot be known whether it was done;
 * any other rejection is a defect
 */
export type Run = <T>(name: LaneName, work: (session: Session) => Promise<T>, options?: RunOptions) => Promise<T>;

interface Lane {
  readonly enter: <T>(work: () => Promise<T>, isWanted: () => boolean) => Promise<T>;
  readonly gate: Gate;
  readonly transaction?: SqlDatabase['transaction'] | undefined;
}

const PAUSE = { first: 50, longest: 1_000 };

const always = () => true;

/** The error of work that nobody waits for any more: one object, since under overload there is much of it. */
const NOT_WANTED = unavailable('it has timed out');

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
): Run {
  const most = foreground({ connections });
  const lanes: Readonly<Record<LaneName, Lane>> = {
    writes: { enter: lane(most), gate: writeGate, transaction },
    reads: { enter: lane(most), gate },
    feed: { enter: lane(Math.ceil(connections / 2)), gate },
    backgroundWrites: { enter: lane(1), gate: writeGate, transaction },
    backgroundReads: { enter: lane(1), gate },
  };

  async function attempts<T>(
    name: LaneName,
    work: (session: Session) => Promise<T>,
    isWanted: () => boolean,
    until: number,
    mayRepeat: (error: unknown) => boolean,
  ): Promise<T> {
    const { enter, gate, transaction } = lanes[name];
    for (let pause = pauses.first; ; pause = Math.min(2 * pause, pauses.longest)) {
      try {
        // Awaiting what is known would take a turn of the microtask queue, and memory, each time.
        const passed = gate();
        const dialect = passed instanceof Promise ? await passed : passed;
        // A transaction may have to wait for its turn, and be given up meanwhile.
        const within = (sql: Statements, end?: number) =>
          isWanted() ? work({ sql, dialect, end }) : Promise.reject(NOT_WANTED);
        return await enter(() => transaction?.(within) ?? work({ sql, dialect }), isWanted);
      } catch (error) {
        onFailure?.(error);
        const failure = failureOf(error);
        const isRepeated = mayRepeat(error) && failure.means === 'transient';
        if (!isRepeated || performance.now() + pause >= until) {
          throw toPortError(failure.means === 'unavailable' ? withAdvice(error) : error, failure);
        }
        await delay(pause);
      }
    }
  }

  return (name, work, { until = performance.now() + timeout, mayRepeat = always } = {}) =>
    new Promise((resolve, reject) => {
      let isWanted = true;
      const time = until - performance.now();
      const timer = setTimeout(() => {
        isWanted = false;
        reject(unavailable(`no outcome within ${Math.round(time)} ms`));
      }, time);
      // `finally` would take more memory (docs/performance.md).
      attempts(name, work, () => isWanted, until, mayRepeat).then(
        (result) => {
          clearTimeout(timer);
          resolve(result);
        },
        (error) => {
          clearTimeout(timer);
          reject(error);
        },
      );
    });
}

/** Lets `limit` pieces of work run at once, first come, first served, and rejects those that are not wanted any more. */
function lane(limit: number): Lane['enter'] {
  const waiting: { readonly isWanted: () => boolean; readonly turn: PromiseWithResolvers<void> }[] = [];
  let running = 0;

  return async (work, isWanted) => {
    if (running >= limit) {
      // Otherwise they would stay, and their memory, for as long as a statement hangs.
      while (waiting[0]?.isWanted() === false) waiting.shift()?.turn.reject(NOT_WANTED);
      const turn = Promise.withResolvers<void>();
      waiting.push({ isWanted, turn });
      await turn.promise;
    } else running++;
    try {
      // Before the event loop turns, so that those who have timed out in the queue delay no other.
      if (!isWanted()) throw NOT_WANTED;
      return await work();
    } finally {
      // The next one takes over, so that the number of running ones stays the same.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next.turn.resolve();
    }
  };
}
