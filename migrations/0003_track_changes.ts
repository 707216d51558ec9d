import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';

/** As in migration 0002: the index is built while plants are written. */
export const transaction = false;

/**
 * Makes the table its own feed of changes. Each row has the transaction that wrote it last, so that it can be read in
 * an order that never changes once all earlier transactions have ended; a deleted plant stays as a row without content.
 * The new columns take no time: Postgres stores one value for all rows that exist.
 *
 * Can be run again, and then repairs what `isIntact` reports.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const addColumns = sql`alter table plants
    add column if not exists deleted timestamptz,
    add column if not exists changed bigint not null default (pg_current_xact_id()::text::bigint)`;
  await withBriefLocks(database, () => addColumns.execute(database));
  // One row: the identity of this store, what is added to transaction ids, and the last position that was purged.
  await sql`create table if not exists change_feed (
    single smallint primary key default 1 check (single = 1),
    store uuid not null default gen_random_uuid(),
    shift bigint not null default 0,
    purged_changed bigint not null default 0,
    purged_id bigint not null default 0
  )`.execute(database);
  await sql`insert into change_feed default values on conflict do nothing`.execute(database);
  if (!(await isIndexed(database))) await sql`drop index concurrently if exists plants_by_change`.execute(database);
  await sql`create index concurrently if not exists plants_by_change on plants (changed, id)`.execute(database);
  if (!(await isInOrder(database))) await raiseTransactions(database);
}

/** Whether the index and the row are there, and what is written now comes after all that is there. */
export async function isIntact(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`select where to_regclass('change_feed') is not null`.execute(database);
  return rows.length > 0 && (await isIndexed(database)) && (await isInOrder(database));
}

async function isIndexed(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`
    select from pg_index where indexrelid = to_regclass('plants_by_change') and indisvalid
  `.execute(database);
  return rows.length > 0;
}

/** The last transaction of which the feed knows: that of a plant, or of a deletion that was purged. */
const LAST = sql`greatest(purged_changed, (select max(changed) from plants))`;

/** What the default adds to transaction ids; null if there is none, as after a restore by hand. */
const DEFAULT_SHIFT = sql`(
  select coalesce(substring(pg_get_expr(adbin, adrelid) from '\\+ ''?(\\d+)')::bigint, 0)
  from pg_attrdef join pg_attribute on attrelid = adrelid and attnum = adnum
  where adrelid = 'plants'::regclass and attname = 'changed')`;

/**
 * Not so after pg_dump and pg_restore from a server that had more transactions, nor after that of one of the two tables
 * from a time before the last repair.
 */
async function isInOrder(database: Kysely<unknown>): Promise<boolean> {
  const { rows } = await sql`
    select from change_feed
    where ${LAST} < pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift and shift = ${DEFAULT_SHIFT}
  `.execute(database);
  return rows.length > 0;
}

/** Makes all later changes come after those that are there, and ends all positions: some may be beyond what came before. */
function raiseTransactions(database: Kysely<unknown>): Promise<void> {
  const raise = async (transaction: Kysely<unknown>) => {
    // Writers have to wait: theirs must come after the old ones, too.
    await sql`lock table plants in access exclusive mode`.execute(transaction);
    const { rows } = await sql<{ shift: string | number | bigint }>`
      update change_feed set store = gen_random_uuid(),
        shift = greatest(shift, ${DEFAULT_SHIFT}, ${LAST} - pg_current_xact_id()::text::bigint)
      returning shift
    `.execute(transaction);
    const shift = sql.lit(BigInt(rows[0]?.shift ?? 0));
    await sql`
      alter table plants alter column changed set default (pg_current_xact_id()::text::bigint + ${shift})
    `.execute(transaction);
  };
  return withBriefLocks(database, () => database.transaction().execute(raise));
}

/** A transaction that used the table and is still open. */
const LOCK_NOT_AVAILABLE = '55P03';
/** Well below the service's own: half of STATEMENT_TIMEOUT. */
const LOCK_TIMEOUT = '100ms';
const ATTEMPTS = 300;

/** Waits for locks in short attempts, since every statement of others would wait behind a long one. */
export async function withBriefLocks(database: Kysely<unknown>, work: () => Promise<unknown>): Promise<void> {
  const { rows } = await sql<{ before: string }>`select current_setting('lock_timeout') as before`.execute(database);
  await sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, false)`.execute(database);
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        await work();
        return;
      } catch (error) {
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE || attempt === ATTEMPTS) throw error;
        await delay(1_000);
      }
    }
  } finally {
    await sql`select set_config('lock_timeout', ${rows[0]?.before ?? '0'}, false)`.execute(database);
  }
}
