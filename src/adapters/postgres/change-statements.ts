import { CompiledQuery } from 'kysely';
import type { Position } from './change-cursor.ts';
import { type Int8, SIZE } from './plant-statements.ts';

/*
 * The statements that read the feed of changes. As plain text, like those in plant-statements.ts. `where single = 1` tells
 * the planner that change_feed has one row: it would expect a thousand, and take the trouble of JIT compilation.
 */

/** The state of the feed. */
export interface StateRow {
  readonly epoch: string;
  readonly purged_changed: Int8;
  readonly purged_id: Int8;
  /** The next transaction. */
  readonly next: Int8;
}

/** A part of the feed; `lines` and `changed` are null if it is empty. */
export interface ChangesRow extends StateRow {
  readonly lines: string | null;
  /** The transaction of the last line. */
  readonly changed: Int8 | null;
}

/** The last row of the feed, null if there is none. */
export interface EndRow extends StateRow {
  readonly changed: Int8 | null;
  readonly id: Int8 | null;
}

/**
 * The transaction from which on some may still be open. What is written by earlier ones is final in its order: later
 * transactions have higher numbers. The shift is explained in migration 0003.
 */
export const SETTLED = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint + shift';

/**
 * The server's identity, the database, its timeline, the store and the table: after a restore, a promotion or an
 * upgrade, transaction ids may go on from an earlier one, and a table restored from a dump has its plants of then.
 * 32 of the hexadecimal digits of a SHA-256.
 */
const EPOCH = `left(encode(sha256(convert_to(concat_ws('/',
  (select system_identifier from pg_control_system()),
  (select oid from pg_database where datname = current_database()),
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), store, 'plants'::regclass::oid), 'UTF8')), 'hex'), 32)`;

const LINE = `'{"id":' || id || case when deleted is null
  then ',"name":' || to_json(name) || coalesce(',"tag":' || to_json(tag), '') else ',"deleted":true' end || '}'`;

/** The transaction id that the server will use next. */
const NEXT = 'pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift';

const STATE = `${EPOCH} as epoch, purged_changed, purged_id, ${NEXT} as next`;

/**
 * The rows after a position and up to another one, at most so many: one at least if there is one, more as long as their
 * texts together have no more than so many octets.
 */
export function selectChanges(
  after: Position,
  until: Position,
  count: number,
  totalSize: number,
): CompiledQuery<ChangesRow> {
  return CompiledQuery.raw(
    `select feed.*, page.* from (
       select ${STATE}, ${SETTLED} as settled from change_feed where single = 1
     ) as feed, lateral (
       select max(changed) as changed, string_agg(${LINE}, E'\\n' order by changed, id) as lines from (
         select *, sum(size) over (order by changed, id rows unbounded preceding) as total from (
           select *, ${SIZE} as size from plants
           where (changed, id) > ($1, $2) and (changed, id) <= ($3, $4) and changed < settled
           order by changed, id limit $5
         ) as plant
       ) as plant where total <= $6 or total = size
     ) as page`,
    [after.changed, after.id, until.changed, until.id, count, totalSize],
  );
}

/** The last row of the feed: one probe of the index. */
export function selectEnd(): CompiledQuery<EndRow> {
  return CompiledQuery.raw(
    `select ${STATE}, last.changed, last.id from change_feed left join lateral (
       select changed, id from plants where changed < ${SETTLED} order by changed desc, id desc limit 1
     ) as last on true where single = 1`,
    [],
  );
}

/** The transaction that holds back the feed, as long as there are later ones. */
export function selectOldest(): CompiledQuery<{ readonly oldest: string; readonly is_behind: boolean }> {
  return CompiledQuery.raw(
    `select pg_snapshot_xmin(now)::text as oldest, pg_snapshot_xmin(now) < pg_snapshot_xmax(now) as is_behind
     from pg_current_snapshot() as now`,
    [],
  );
}

/** Whether the feed knows of transactions that this server has not reached, as after pg_restore. */
export function selectRestored(): CompiledQuery<{ readonly is_restored: boolean }> {
  return CompiledQuery.raw(
    `select greatest(purged_changed, (select max(changed) from plants)) >= ${NEXT} as is_restored
     from change_feed where single = 1`,
    [],
  );
}
