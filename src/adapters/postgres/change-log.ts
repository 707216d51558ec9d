import { type RawBuilder, sql } from 'kysely';
import type { LogDialect, LogState } from '../sql/dialect.ts';
import { SchemaError } from './failures.ts';

/*
 * The position of the server in the history of transactions, as SQL over the one row of change_feed. `where single = 1` tells
 * the planner that there is one row. Otherwise it expects a thousand, and compiles the statement by JIT.
 */

/**
 * The oldest transaction that may still be open. What earlier transactions have written is final in its order: later ones
 * have higher numbers. The shift is explained in migration 0003.
 */
const SETTLED = sql<bigint>`pg_snapshot_xmin(pg_current_snapshot())::text::bigint + shift`;

/** The next transaction: the snapshot shows nothing of this one and later ones. */
const NEXT = sql<bigint>`pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift`;

/**
 * Whether no row is ahead of the server: readers past such a row would never see what is written now. A restore can break
 * this at any time. It creates the index last, so a missing index means that it has not finished.
 */
const IS_INTACT = sql<boolean>`to_regclass('plants_by_change') is not null
  and greatest(purged_changed, (select max(changed) from plants)) < ${NEXT}`;

/** 16 of the hexadecimal digits of a SHA-256. */
const digest = (...values: readonly RawBuilder<unknown>[]) =>
  sql`left(encode(sha256(convert_to(concat_ws('/', ${sql.join(values)}), 'UTF8')), 'hex'), 16)`;

/** Identifies the server, the database and the table: a restored table is a different one, with the plants of its dump. */
const TABLE = digest(
  sql`(select system_identifier from pg_control_system())`,
  sql`(select oid from pg_database where datname = current_database())`,
  sql`'plants'::regclass::oid`,
);

/** After a promotion or a restore, transaction ids may continue from an earlier number, in another timeline. */
const TIMELINE = sql`substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;

const EPOCH = sql<string>`(${TABLE} || ${digest(TIMELINE, sql`store`)})`;

/** The state of the log, with the columns that only Postgres has. */
interface State extends LogState {
  readonly is_intact?: boolean;
  /** Whether the timeline has no identity of its own yet. */
  readonly is_unnamed?: boolean;
}

const STATE = sql<State>`
  select epoch, purged_changed, purged_id, next, settled, is_intact, not recorded ? epoch as is_unnamed
  from (
    select ${EPOCH} as epoch, purged_changed, purged_id, ${NEXT} as next, ${SETTLED} as settled,
      ${IS_INTACT} as is_intact, recorded
    from change_feed where single = 1
  ) as state offset 0`;

export const log: LogDialect = {
  settled: SETTLED,
  isStateReadLast: false,
  state: STATE,
  requireIntact(state: State | undefined) {
    if (state === undefined) throw new SchemaError(NO_ROW);
    if (!state.is_intact) {
      throw new SchemaError('the plants come from another server, or were restored in part: run npm run migrate');
    }
  },
  async nameOnce({ sql }, state: State | undefined) {
    if (state?.is_unnamed) await nameTimeline.execute(sql);
    return state?.is_unnamed ?? false;
  },
  async renew({ sql: tables }) {
    const { rows } = await sql`${renewal(sql`gen_random_uuid()`)} returning 1`.execute(tables);
    if (rows.length === 0) throw new SchemaError(NO_ROW);
  },
};

const NO_ROW = 'the table change_feed has no row: run npm run migrate';

/**
 * Servers that are promoted or restored independently may number their timelines alike. So each timeline gets an identity of
 * its own: a random one in `store`, whose epoch is the key in `recorded`. If both columns come from another timeline,
 * `recorded` has no key of this server.
 *
 * @param store the column before the update; `store` in EPOCH is the new one
 */
const renewal = (store: RawBuilder<unknown>) => sql`
  update change_feed set (store, recorded) = (
    select store, jsonb_build_object(${EPOCH}, 0) from (select ${store} as store) as identity
  ) where single = 1`;

/** Run by the first reader of a timeline. Concurrent readers wait for it, and change nothing. */
const nameTimeline = sql`
  ${renewal(sql`case when recorded = '{}' then store else gen_random_uuid() end`)} and not recorded ? ${EPOCH}`;
