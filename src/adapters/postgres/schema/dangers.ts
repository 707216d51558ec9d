import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The major version of Postgres that CI runs the tests of the database on, beside the newest one. */
const OLDEST_VERSION = 14;

/** With fewer, operators have to act: a busy server may use up so many in some hours. */
const MIN_TRANSACTIONS_LEFT = 100_000_000;

/** Postgres's ids wrap around after 2^31 transactions; it keeps the last three million for an administrator. */
const USABLE_IDS = 2 ** 31 - 3_000_000;

interface Found {
  readonly major: number;
  /** Settings that are off, though a power loss can destroy the database then. */
  readonly off: string | null;
  /** What may change or drop a row before it is stored. */
  readonly triggers: string | null;
  readonly left: number;
  readonly oldest: string;
}

/**
 * Finds what can lose or change plants, or soon refuse them, although every request succeeds now.
 *
 * @returns `problems`, in words, and how many more transactions that write Postgres takes until it has vacuumed
 */
export async function dangers({ sql: database }: Database) {
  const { rows } = await sql<Found>`
    select current_setting('server_version_num')::int / 10000 as major,
      (select string_agg(name, ' and ' order by name) from pg_settings
        where name in ('fsync', 'full_page_writes') and setting = 'off') as off,
      (select string_agg(quote_ident(name), ', ' order by name)
        from (
          select tgname from pg_trigger
          -- 2 is the bit of BEFORE (pg_trigger.h). The others run in replicas only, or never.
          where tgrelid = to_regclass('plants') and tgtype & 2 = 2 and tgenabled in ('O', 'A') and not tgisinternal
          union all
          select rulename from pg_rewrite where ev_class = to_regclass('plants') and ev_enabled in ('O', 'A')
        ) as enabled (name)) as triggers,
      greatest(0, ${sql.lit(USABLE_IDS)} - age(datfrozenxid)) as left, datname as oldest
    from pg_database order by age(datfrozenxid) desc limit 1
  `.execute(database);
  const { major, off, triggers, left, oldest } = rows[0] as Found;
  const few = left === 0 ? 'no' : `fewer than ${Math.ceil(left / 1e6)} million`;
  const problems = [
    major < OLDEST_VERSION
      ? `Postgres ${major} is older than ${OLDEST_VERSION}, the oldest version that is supported: upgrade it`
      : undefined,
    left < MIN_TRANSACTIONS_LEFT
      ? `Postgres takes ${few} more transactions: vacuum the database ${oldest} as its owner, ` +
        'and end what holds that up (long or prepared transactions, replication slots)'
      : undefined,
    off && `a power loss can destroy the database: switch ${off} on in Postgres`,
    triggers && `triggers or rules on plants may change or drop a plant, whose response has what was sent: ${triggers}`,
  ];
  return { problems, transactionIdsLeft: left };
}
