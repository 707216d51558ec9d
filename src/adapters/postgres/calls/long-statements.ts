import { setTimeout as delay } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';
import type { Database } from '../database.ts';
import { semaphore } from './semaphore.ts';
import type { StoreCall } from './store-call.ts';

/** The part of the connections that long statements may use: they must leave most of the database to others. */
const SHARE = 0.1;
/** How long they pause while plants are being written, in durations of the last one: creates keep 0.8 of their rate. */
const PAUSE = 3;
/** At most, in milliseconds. */
const MAX_PAUSE = 100;

/** Runs statements that take long, few at once, with pauses between them while plants are being written. */
export function longStatements({ sql, connections, gather }: Database, isWriting: () => boolean) {
  /** Milliseconds that the last one took. */
  let lastTook = 0;
  const limited = semaphore(Math.ceil(connections * SHARE));

  return <Row>(query: CompiledQuery<Row>, call: StoreCall): Promise<Row[]> =>
    limited(async () => {
      if (isWriting()) await delay(Math.min(PAUSE * lastTook, MAX_PAUSE));
      const start = performance.now();
      const { rows } = await sql.executeQuery(query);
      lastTook = performance.now() - start;
      // Otherwise one after another would let no socket be served.
      await gather?.();
      return rows;
    }, call);
}
