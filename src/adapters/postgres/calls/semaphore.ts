import { setTimeout as delay } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';
import type { Database } from '../database.ts';
import { DeadlineError } from '../errors.ts';
import { maxRunning, type StatementKind } from './connection-shares.ts';
import type { CallState } from './store-call.ts';

/** Does the work when there is room, unless its call times out first. */
type Semaphore = <T>(work: () => Promise<T>, call: CallState) => Promise<T>;

/** Lets few statements of a kind run at once, first come, first served, so that they leave connections to others. */
export function semaphore(database: Database, kind: StatementKind): Semaphore {
  const limit = maxRunning(database, kind);
  const waiting: { readonly call: CallState; readonly enter: () => void; readonly leave: (error: Error) => void }[] =
    [];
  let running = 0;

  return async (work, call) => {
    if (running >= limit) {
      // Otherwise they would stay, and their memory, for as long as a statement hangs.
      while (waiting[0]?.call.isOpen === false) waiting.shift()?.leave(new DeadlineError('the call has timed out'));
      await new Promise<void>((enter, leave) => waiting.push({ call, enter, leave }));
    } else running++;
    try {
      // Before the event loop turns, so that callers that have timed out in the queue delay no other.
      if (!call.isOpen) throw new DeadlineError('the call has timed out');
      // Statements one after another would otherwise keep all sockets waiting.
      await database.letRequestsArrive?.();
      return await work();
    } finally {
      // The next caller takes over, so that the number of running statements stays the same.
      const next = waiting.shift();
      if (next === undefined) running--;
      else next.enter();
    }
  };
}

/** The pause between long statements while plants are written, as a multiple of the last one's duration: creates keep 0.8 of their rate. */
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
        if (!call.isOpen) throw new DeadlineError('the call has timed out');
        streams.ended = 0;
        return run(query);
      }, call),
  };
}
