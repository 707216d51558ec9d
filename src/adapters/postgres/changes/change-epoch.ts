import { type RawBuilder, sql } from 'kysely';

/* Where the server is in the history of transactions, as SQL over the columns of change_feed. */

/**
 * The transaction from which on transactions may still be open. What earlier transactions have written is final in its
 * order: later ones have higher numbers. The shift is explained in migration 0003.
 */
export const SETTLED = sql<bigint>`pg_snapshot_xmin(pg_current_snapshot())::text::bigint + shift`;

/** The next transaction: the snapshot shows nothing of it and of later ones. */
export const NEXT = sql<bigint>`pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift`;

/** What the default of `changed` adds to transaction ids; null if there is no default. */
const DEFAULT_SHIFT = sql`(
  select coalesce(substring(pg_get_expr(adbin, adrelid) from '\\+ ''?(\\d+)')::bigint, 0)
  from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
  where adrelid = 'plants'::regclass and attname = 'changed')`;

/**
 * Whether what is written now comes after all that is there, as migration 0003 has made it: the index is there and
 * valid, no row is ahead of the server's transactions, and rows get the shift. A restore ends that at any time, one that
 * is not complete included: the index is the last of its steps.
 */
export const IS_INTACT = sql<boolean>`coalesce(
  (select indisvalid from pg_index where indexrelid = to_regclass('plants_by_change'))
  and greatest(purged_changed, (select max(changed) from plants)) < ${NEXT} and shift = ${DEFAULT_SHIFT}, false)`;

/** 16 of the hexadecimal digits of a SHA-256. */
const digest = (...values: readonly RawBuilder<unknown>[]) =>
  sql`left(encode(sha256(convert_to(concat_ws('/', ${sql.join(values)}), 'UTF8')), 'hex'), 16)`;

/** The server's identity, the database and the table: a restored table is another one, with the plants of its dump. */
const TABLE = digest(
  sql`(select system_identifier from pg_control_system())`,
  sql`(select oid from pg_database where datname = current_database())`,
  sql`'plants'::regclass::oid`,
);

/** After a promotion or a restore, transaction ids may go on from an earlier number, in another timeline. */
const TIMELINE = sql`substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;

export const EPOCH = sql<string>`(${TABLE} || ${digest(TIMELINE, sql`store`)})`;

/** Whether the role may give a timeline its identity: see feed-identity.ts. */
export const MAY_NAME = sql<boolean>`
  has_column_privilege('change_feed', 'store', 'update') and has_column_privilege('change_feed', 'recorded', 'update')`;
