import { setTimeout as delay } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';
import type { Database } from '../database.ts';
import { DeadlineError } from '../errors.ts';
import { maxRunning, type StatementKind } from './connection-shares.ts';
import type { StoreCall } from './store-call.ts';

/** Does the work when there is room, unless its call times out first. */
type Semaphore = <T>(work: () => Promise<T>, call: StoreCall) => Promise<T>;

/** Lets few statements of a kind run at once, first come, first served, so that they leave connections to others. */
export function semaphore(database: Database, kind: StatementKind): Semaphore {
  const limit = maxRunning(database, kind);
  const waiting: (() => void)[] = [];
  let running = 0;

  return async (work, call) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      // Statements one after another would otherwise keep all sockets waiting.
      await database.letRequestsArrive?.();
      if (!call.isOpen) throw new DeadlineError('the call has timed out');
      return await work();
    } finally {
      // The next caller takes over, so that the number of running statements stays the same.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

/**
 * Between long statements while plants are written, in durations of the last statement: creates keep 0.8 of their rate.
 */
const PAUSE = 3;
/** At most, in milliseconds. */
const MAX_PAUSE = 100;

/** Runs statements that take long, few at once, with pauses between them while plants are being written. */
export function longStatements(database: Database, isWriting: () => boolean) {
  /** Milliseconds that the last statement took. */
  let lastTook = 0;
  const limited = semaphore(database, 'long');

  return <Row>(query: CompiledQuery<Row>, call: StoreCall): Promise<Row[]> =>
    limited(async () => {
      if (isWriting()) await delay(Math.min(PAUSE * lastTook, MAX_PAUSE));
      const start = performance.now();
      const { rows } = await database.sql.executeQuery(query);
      lastTook = performance.now() - start;
      return rows;
    }, call);
}
