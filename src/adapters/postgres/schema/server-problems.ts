import { type Kysely, sql } from 'kysely';
import type { Tables } from '../database.ts';

/** Finds what is wrong with the server as a whole, in words; none of it would get better by keeping requests away. */
export async function serverProblems(database: Kysely<Tables>): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off'
  `.execute(database);
  return rows.map(({ name }) => `${name} is off, so a power loss can destroy the database: switch it on in Postgres`);
}
