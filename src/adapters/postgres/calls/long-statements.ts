import { setTimeout as delay } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';
import type { Database } from '../database.ts';
import { CALL_CLOSED } from '../errors.ts';
import { semaphore } from './semaphore.ts';
import type { CallState } from './store-call.ts';

/** Durations of the last long statement before the next one, while plants are written: creates keep 0.8 of their rate. */
const PAUSE = 3;
/** At most, in milliseconds. */
const MAX_PAUSE = 100;

/** Parts of streams before each part of a search, while streams wait. */
const STREAMS_FIRST = 4;

/** Runs statements that take long, few at once, with pauses between them while plants are being written. */
export function longStatements(database: Database, isWriting: () => boolean) {
  /** Milliseconds that the last statement took. */
  let lastTook = 0;
  const [ofStreams, ofSearches] = [semaphore(database, 'long'), semaphore(database, 'searches')];
  /** Parts of streams that wait or run, and how many have ended since the last part of a search began. */
  const streams = { open: 0, ended: 0 };
  /** What parts of searches wait for. */
  let turn = Promise.withResolvers<void>();

  async function run<Row>(query: CompiledQuery<Row>): Promise<Row[]> {
    if (isWriting()) await delay(Math.min(PAUSE * lastTook, MAX_PAUSE));
    const start = performance.now();
    const { rows } = await database.sql.executeQuery(query);
    lastTook = performance.now() - start;
    return rows;
  }

  function endTurn(): void {
    turn.resolve();
    turn = Promise.withResolvers();
  }

  return {
    async rowsOfStream<Row>(query: CompiledQuery<Row>, call: CallState): Promise<Row[]> {
      streams.open++;
      try {
        return await ofStreams(() => run(query), call);
      } finally {
        streams.open--;
        streams.ended++;
        // A stream that goes on has asked for its next part by then.
        setImmediate(endTurn);
      }
    },
    rowsOfSearch: <Row>(query: CompiledQuery<Row>, call: CallState): Promise<Row[]> =>
      ofSearches(async () => {
        while (streams.open > 0 && streams.ended < STREAMS_FIRST) await turn.promise;
        if (!call.isOpen) throw CALL_CLOSED;
        streams.ended = 0;
        return run(query);
      }, call),
  };
}
