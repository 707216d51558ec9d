import type { SQLInputValue } from 'node:sqlite';
import { sql } from 'kysely';
import { ConnectionError, UnknownOutcomeError } from '../../src/adapters/postgres/failures.ts';
import type { Dialect } from '../../src/adapters/sql/dialect.ts';
import { type PlantRow, storedIn } from '../../src/adapters/sql/plant-rows.ts';
import { sqlite } from '../../src/adapters/sqlite/dialect.ts';
import { openConnection } from '../../src/adapters/sqlite/file/connection.ts';
import { applySchema } from '../../src/adapters/sqlite/file/schema.ts';
import { type Process, randomOf, simulation } from './kernel.ts';
import type { PostgresFaults } from './plan.ts';
import type { Run } from './run.ts';
import type { Row } from './table.ts';

/*
 * A model of Postgres: SQLite in memory runs the statements of adapters/sql, each as a transaction that begins, waits for locks,
 * and is committed some time later, with the number of its begin. What is cut, late or refused on the way is decided by a seed.
 */

export const model: Dialect = {
  ...sqlite,
  inserted: { changed: sql`transaction_id()` },
  changedByUpdate: sql`transaction_id()`,
  lock: () => sql`and is_locked(cast(plants.id as text))`,
  log: {
    ...sqlite.log,
    isStateReadLast: false,
    state: sql`select store as epoch, purged_changed, purged_id, next() as next, settled() as settled from change_feed`,
    settled: sql`settled()`,
  },
};

type Rows = { readonly rows: readonly object[] };
type Outcome = Rows | Error;
type Done = (outcome: Outcome) => void;

/** Milliseconds until the server gives up a lock, the client a silent connection, and a late statement has arrived. */
const LOCK_TIMEOUT = 150;
const SILENCE = 600;
const LATENESS = 3_000;
/** Milliseconds from which on no statement can still be on its way; purge frees no id before. */
export const SAFE_AGE = LATENESS + SILENCE + 2_000;

/** What a trigger of an operator raises. */
export const ROW_REFUSED = 'P0001';

/** As pg reports an error of the server. */
const sqlError = (code: string) => Object.assign(new Error(code), { severity: 'ERROR', code });

export function postgresServer({ plan, note }: Run, faults: PostgresFaults, onCommit: () => void) {
  const random = randomOf(`postgres ${plan.seed}`);
  const server = simulation.process('postgres');
  const database = openConnection(':memory:');
  applySchema(database);
  const prepared = new Map<string, ReturnType<typeof database.prepare>>();
  const locks = new Set<bigint>();
  /** Transactions that are not committed. */
  const running = new Set<bigint>();
  let next = 1n;
  /** Of the statement that is committed now: its transaction, and the rows that this has locked. */
  let committing = { id: 0n, locked: new Set<bigint>() };
  let isCalm = false;
  /** When the last transaction has ended. */
  let lastEnd = 0;
  const latency = () => random.next() * faults.latency;

  database.function('transaction_id', () => committing.id);
  database.function('next', () => next);
  database.function('settled', () => [...running][0] ?? next);
  database.function('is_locked', (id) => (committing.locked.has(BigInt(`${id}`)) ? 1n : 0n));

  function all(text: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement.all(...values);
  }
  const isThere = (id: bigint) => all('select 1 from plants where id = ?', id).length > 0;

  /** Runs a statement as a transaction, once no other one has locked what it waits for. */
  function transaction(ids: readonly bigint[], waits: boolean, work: () => object[], done: Done, begun = 0): void {
    if (waits && ids.some((id) => locks.has(id))) {
      const since = begun || simulation.now();
      if (simulation.now() - since > LOCK_TIMEOUT) done(sqlError('55P03'));
      else simulation.later(server, 1, () => transaction(ids, waits, work, done, since));
      return;
    }
    const id = next++;
    running.add(id);
    for (const one of ids) locks.add(one);
    // Longer ones hold back what others have committed since.
    simulation.later(server, latency() * (random.chance(0.2) ? 10 : 1), () => {
      committing = { id, locked: new Set(ids) };
      const rows = work();
      for (const one of ids) locks.delete(one);
      running.delete(id);
      lastEnd = simulation.now();
      if (rows.length > 0) onCommit();
      done({ rows });
    });
  }

  function execute(text: string, parameters: readonly SQLInputValue[], done: Done): void {
    const run = () => all(text, ...parameters);
    const isInsert = text.includes('insert into plants');
    if (!isInsert && !text.includes('update plants')) {
      done({ rows: run() });
      return;
    }
    if (!isCalm && random.next() < faults.refusedRow) {
      done(sqlError(ROW_REFUSED));
      return;
    }
    const ids = (JSON.parse(`${parameters[0]}`) as string[][]).map(([id = '']) => BigInt(id));
    // A row that is there conflicts, whoever changes it; an UPDATE passes over one that is locked.
    const wanted = ids.filter((id) => (isInsert ? !isThere(id) : isThere(id) && !locks.has(id)));
    transaction(wanted, isInsert, run, done);
  }

  /** Has a statement run at the server, and brings its result back, over a connection that may be cut. */
  function send(process: Process, text: string, parameters: readonly SQLInputValue[]): Promise<Rows> {
    return new Promise((resolve, reject) => {
      const fate = isCalm ? 1 : random.next();
      const answer = (result: Outcome, milliseconds = latency()) =>
        void simulation.later(process, milliseconds, () =>
          result instanceof Error ? reject(result) : resolve(result),
        );
      const arrive = (milliseconds: number, done: Done = () => {}) =>
        void simulation.later(server, milliseconds, () => execute(text, parameters, done));
      const lost = () => new UnknownOutcomeError('lost_connection', 'cut');
      const ways: readonly [Exclude<keyof PostgresFaults, 'refusedRow'>, () => void][] = [
        ['refused', () => answer(new ConnectionError(new Error('refused')))],
        ['cutBefore', () => answer(lost())],
        ['cutAfter', () => arrive(latency(), () => answer(lost(), 0))],
        // While it is on its way.
        ['cutDuring', () => [answer(lost()), arrive(latency() * 3)]],
        [
          'late',
          () => [answer(new UnknownOutcomeError('no_response', 'silent'), SILENCE), arrive(random.next() * LATENESS)],
        ],
        ['timeout', () => answer(sqlError('57014'), LOCK_TIMEOUT)],
      ];
      let share = 0;
      for (const [fault, happen] of ways) {
        share += faults[fault];
        if (fate >= share) continue;
        note(`${process.name}: ${text.trim().slice(0, 6)} ${fault}`);
        return happen();
      }
      arrive(latency(), answer);
    });
  }

  return {
    execute: send,
    rows: (): Row[] =>
      all('select id, name, tag, deleted, changed from plants').map((row) => {
        const { changed, ...plant } = row as unknown as PlantRow & { readonly changed: bigint };
        return { id: plant.id, stored: storedIn(plant), changed };
      }),
    /** Whether no transaction has run since. */
    isQuietSince: (time: number) => running.size === 0 && lastEnd < time,
    /** @returns the ids that it has freed */
    purge(): bigint[] {
      const until = BigInt(Math.floor(Date.now() - SAFE_AGE));
      const old = all('select id, changed from plants where deleted <= ? order by changed', until);
      for (const { id, changed } of old as Record<'id' | 'changed', bigint>[]) {
        all('delete from plants where id = ?', id);
        all('update change_feed set purged_changed = ?1, purged_id = ?2 where purged_changed < ?1', changed, id);
      }
      return old.map(({ id }) => id as bigint);
    },
    calm(): void {
      isCalm = true;
    },
    close: () => database.close(),
  };
}
