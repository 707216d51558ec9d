import type { DatabaseSync } from 'node:sqlite';
import { type Process, randomOf, simulation } from './kernel.ts';

/*
 * What a disk, another process or a kill does to connections of SQLite: the next statement of a kind fails. A process that is
 * killed loses what it has not committed, and the database stays.
 */

export const DISK_FAULTS = [
  'busy', // another process writes, for some milliseconds
  'full at commit',
  'full at a row', // the transaction goes on
  'full at a later row', // of a transaction that has written others
  'full, rolled back', // SQLite has ended the transaction
  'slow commit',
  'lost sync, committed',
  'lost sync, not committed',
  'killed before commit',
  'killed after commit',
] as const;

export type DiskFault = (typeof DISK_FAULTS)[number];

/** SQLite's result codes. */
const [BUSY, FULL, IOERR_FSYNC] = [5, 13, 1034];

const sqliteError = (errcode: number, message: string) => Object.assign(new Error(message), { errcode });

interface DiskEvents {
  readonly kill: (process: Process) => void;
  readonly note: (text: string) => void;
  readonly fail: (text: string) => void;
  readonly onCommit: () => void;
}

export function simulatedDisk(seed: number, { kill, note, fail, onCommit }: DiskEvents) {
  const random = randomOf(`disk ${seed}`);
  const pending = new Map<Process, { readonly fault: DiskFault; readonly milliseconds: number }>();
  const busyUntil = new Map<Process, number>();
  /** Processes whose disk may have lost what they wrote: only a new start may write again. */
  const doubtful = new WeakSet<Process>();
  /** Connections with a transaction that writes. */
  const writing = new WeakSet<DatabaseSync>();
  /** That the transaction has tried to write. */
  let rows = 0;

  function disturbed<T>(database: DatabaseSync, kind: string, run: () => T): T {
    const process = simulation.current();
    if (kind === 'begin immediate') {
      if ((busyUntil.get(process) ?? 0) > simulation.now()) throw sqliteError(BUSY, 'database is locked');
      writing.add(database);
      rows = 0;
      return run();
    }
    // The end of a snapshot that was only read.
    if (kind === 'commit' && !writing.delete(database)) return run();
    if (kind === 'commit' && doubtful.has(process)) fail(`${process.name} commits after a lost sync`);
    if (kind !== 'commit') rows++;
    const result = withFault(database, kind, process, run);
    if (kind === 'commit') onCommit();
    return result;
  }

  function withFault<T>(database: DatabaseSync, kind: string, process: Process, run: () => T): T {
    const { fault, milliseconds = 0 } = pending.get(process) ?? {};
    const isOfRow = fault?.startsWith('full at a ') === true || fault === 'full, rolled back';
    if (fault === undefined || isOfRow !== (kind !== 'commit')) return run();
    if (fault === 'full at a later row' && rows === 1) return run();
    pending.delete(process);
    note(`${process.name}: ${fault}`);
    if (fault === 'full, rolled back') database.exec('rollback');
    if (isOfRow || fault === 'full at commit') throw sqliteError(FULL, 'database or disk is full');
    if (fault === 'slow commit') simulation.spend(milliseconds);
    const isCommitted = fault !== 'lost sync, not committed' && fault !== 'killed before commit';
    if (!isCommitted) database.exec('rollback');
    const result = isCommitted ? run() : undefined;
    if (isCommitted) onCommit();
    if (fault.startsWith('lost sync')) {
      doubtful.add(process);
      throw sqliteError(IOERR_FSYNC, 'disk I/O error');
    }
    if (fault !== 'slow commit') {
      kill(process);
      throw new Error('killed');
    }
    return result as T;
  }

  return {
    /** Makes a connection one of this disk. */
    attach(sql: DatabaseSync): DatabaseSync {
      // Identities of feeds and leases.
      sql.function('randomblob', (count) => Uint8Array.from({ length: Number(count) }, () => random.int(256)));
      const prepare = sql.prepare.bind(sql);
      return Object.assign(sql, {
        prepare(text: string) {
          const statement = prepare(text);
          const kind = /^begin immediate|^commit|insert into plants|update plants/.exec(text)?.[0];
          if (kind === undefined) return statement;
          const [run, all] = [statement.run.bind(statement), statement.all.bind(statement)];
          return Object.assign(statement, {
            run: (...values: Parameters<typeof run>) => disturbed(sql, kind, () => run(...values)),
            all: (...values: Parameters<typeof all>) => disturbed(sql, kind, () => all(...values)),
          });
        },
      });
    },
    /** @param milliseconds how long another process writes, or a commit takes */
    disturb(process: Process, fault: DiskFault, milliseconds: number): void {
      if (fault === 'busy') busyUntil.set(process, simulation.now() + milliseconds);
      else pending.set(process, { fault, milliseconds });
    },
    calm(): void {
      pending.clear();
      busyUntil.clear();
    },
  };
}
