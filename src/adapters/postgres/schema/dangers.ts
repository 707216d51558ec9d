import { sql } from 'kysely';
import type { Database } from '../database.ts';

/** The major version of Postgres that CI runs the tests of the database on, beside the newest one. */
const OLDEST_VERSION = 14;

interface Found {
  readonly major: number;
  /** Settings that are off, though a power loss can destroy the database then. */
  readonly off: string | null;
}

/** Finds what can lose plants, although every request succeeds now. @returns for each check its problem in words; falsy if there is none */
export async function dangers({ sql: database }: Database) {
  const { rows } = await sql<Found>`
    select current_setting('server_version_num')::int / 10000 as major,
      (select string_agg(name, ' and ' order by name) from pg_settings
        where name in ('fsync', 'full_page_writes') and setting = 'off') as off
  `.execute(database);
  const { major, off } = rows[0] as Found;
  return [
    major < OLDEST_VERSION
      ? `Postgres ${major} is older than ${OLDEST_VERSION}, the oldest version that is supported: upgrade it`
      : undefined,
    off && `a power loss can destroy the database: switch ${off} on in Postgres`,
  ];
}
