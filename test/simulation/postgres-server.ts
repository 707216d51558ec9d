import { ConnectionError, UnknownOutcomeError } from '../../src/adapters/postgres/failures.ts';
import { isAfter } from '../../src/application/changes/cursor.ts';
import { type Process, randomOf, simulation } from './kernel.ts';
import type { PostgresFaults } from './plan.ts';
import type { Run } from './run.ts';
import type { Row } from './table.ts';

/*
 * A model of Postgres, as far as the adapter's way of writing relies on it: each statement is a transaction that begins, waits for
 * locks, and is committed some time later. What is cut, late or refused on the way is decided by a seed.
 */

interface StoredRow {
  readonly name: string;
  readonly tag: string | null;
  /** When it was deleted, in simulated time. */
  readonly deleted: number | null;
  readonly changed: bigint;
}

type Outcome<T> = T | Error;
type Done<T> = (outcome: Outcome<T>) => void;
type Rows = { readonly rows: readonly object[] };

/** Milliseconds until the server gives up a lock, the client a silent connection, and a late statement has arrived. */
const LOCK_TIMEOUT = 150;
const SILENCE = 600;
const LATENESS = 3_000;
/** Milliseconds from which on no statement can still be on its way; purge frees no id before. */
export const SAFE_AGE = LATENESS + SILENCE + 2_000;

/** As pg reports an error of the server. */
const sqlError = (code: string) => Object.assign(new Error(code), { severity: 'ERROR', code });

export function postgresServer({ plan, note }: Run, faults: PostgresFaults, onCommit: () => void) {
  const random = randomOf(`postgres ${plan.seed}`);
  const server = simulation.process('postgres');
  const rows = new Map<bigint, StoredRow>();
  const locks = new Set<bigint>();
  /** Transactions that are not committed. */
  const running = new Set<bigint>();
  let next = 1n;
  let purged = { changed: 0n, id: 0n };
  let isCalm = false;
  /** When the last transaction has ended. */
  let lastEnd = 0;
  const latency = () => random.next() * faults.latency;

  /** Runs a statement as a transaction, once no other one has locked what it waits for. */
  function transaction(
    ids: readonly bigint[],
    waits: boolean,
    work: (xid: bigint) => readonly object[],
    done: Done<Rows>,
    begun = simulation.now(),
  ): void {
    if (waits && ids.some((id) => locks.has(id))) {
      if (simulation.now() - begun > LOCK_TIMEOUT) done(sqlError('55P03'));
      else simulation.later(server, 1, () => transaction(ids, waits, work, done, begun));
      return;
    }
    const xid = next++;
    running.add(xid);
    for (const id of ids) locks.add(id);
    simulation.later(server, latency(), () => {
      const result = work(xid);
      for (const id of ids) locks.delete(id);
      running.delete(xid);
      lastEnd = simulation.now();
      if (result.length > 0) onCommit();
      done({ rows: result });
    });
  }

  function execute(sql: string, parameters: readonly unknown[], done: Done<Rows>): void {
    const lists = parameters.filter((one) => typeof one === 'string').map(elements);
    const ids = (lists[0] ?? []).map((id) => BigInt(id ?? 0));
    if (sql.startsWith('insert into plants')) {
      const [, names, tags] = lists;
      const insert = (changed: bigint) =>
        ids.flatMap((id, n) => {
          if (rows.has(id)) return [];
          rows.set(id, { name: names?.[n] ?? '', tag: tags?.[n] ?? null, deleted: null, changed });
          return [{ id }];
        });
      // A row that is there conflicts, whoever changes it.
      const free = ids.filter((id) => !rows.has(id));
      transaction(free, true, insert, done);
    } else if (sql.includes('update plants')) {
      const [, versions, names, tags, deletions] = lists;
      const isAsFound = (id: bigint) => `${rows.get(id)?.changed}` === versions?.[ids.indexOf(id)];
      const unlocked = ids.filter((id) => !locks.has(id) && isAsFound(id) && rows.get(id)?.deleted === null);
      const update = (changed: bigint) =>
        unlocked.map((id) => {
          const n = ids.indexOf(id);
          const deleted = deletions?.[n] === 'true' ? simulation.now() : null;
          rows.set(id, { name: names?.[n] ?? '', tag: tags?.[n] ?? null, deleted, changed });
          return { id };
        });
      transaction(unlocked, false, update, done);
    } else {
      const found = ids.flatMap((id) => {
        const row = rows.get(id);
        return row === undefined ? [] : [{ id, ...row }];
      });
      done({ rows: found });
    }
  }

  /** Does something at the server, and brings its result back, over a connection that may be cut. */
  function send<T>(process: Process, what: string, run: (done: Done<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const fate = isCalm ? 1 : random.next();
      const answer = (result: Outcome<T>, milliseconds = latency()) =>
        void simulation.later(process, milliseconds, () =>
          result instanceof Error ? reject(result) : resolve(result),
        );
      const arrive = (milliseconds: number, done: Done<T> = () => {}) =>
        void simulation.later(server, milliseconds, () => run(done));
      const lost = () => new UnknownOutcomeError('lost_connection', 'cut');
      const ways: readonly [keyof PostgresFaults, () => void][] = [
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
        note(`${process.name}: ${what} ${fault}`);
        return happen();
      }
      arrive(latency(), answer);
    });
  }

  const entries = (): Row[] => [...rows].map(([id, row]) => ({ id, stored: storedIn(id, row), changed: row.changed }));
  return {
    execute: (process: Process, sql: string, parameters: readonly unknown[]) =>
      send<Rows>(process, sql.trim().slice(0, 6), (done) => execute(sql, parameters, done)),
    /** Does something that reads only, in one snapshot. */
    ask: <T>(process: Process, work: () => T) => send<T>(process, 'read', (done) => done(work())),
    rows: entries,
    /** In the order of the log of changes, up to the first transaction that is not committed. */
    visible(): Row[] {
      const [settled = next] = running;
      return entries()
        .filter(({ changed }) => changed < settled)
        .sort((a, b) => (isAfter(a, b) ? 1 : -1));
    },
    state() {
      const [settled = next] = running;
      return { epoch: '0'.repeat(32), purged_changed: purged.changed, purged_id: purged.id, next, settled };
    },
    /** Whether no transaction has run since. */
    isQuietSince: (time: number) => running.size === 0 && lastEnd < time,
    /** @returns the ids that it has freed */
    purge(): bigint[] {
      const old = [...rows].filter(([, { deleted }]) => deleted !== null && deleted <= simulation.now() - SAFE_AGE);
      for (const [id, { changed }] of old) {
        rows.delete(id);
        if (changed > purged.changed) purged = { changed, id };
      }
      return old.map(([id]) => id);
    },
    calm(): void {
      isCalm = true;
    },
  };
}

function storedIn(id: bigint, { name, tag, deleted }: StoredRow) {
  return deleted === null ? { id, name, ...(tag !== null && { tag }) } : 'deleted';
}

/** Of an array in Postgres's text form, or of numbers in JSON. */
function elements(text: string): (string | null)[] {
  return [...text.slice(1, -1).matchAll(/"((?:\\.|[^"\\])*)"|([^,]+)/gs)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain === 'null' ? null : (plain ?? '')) : quoted.replace(/\\(.)/gs, '$1'),
  );
}
