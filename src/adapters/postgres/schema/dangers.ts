import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { wraparoundProblem } from './transaction-ids.ts';

/** Finds what can lose or change plants, or soon refuse them, although every request succeeds now; in words. */
export async function dangers(database: Database): Promise<readonly (string | undefined)[]> {
  const { rows } = await sql<{ off: string | null; triggers: string | null }>`select
    (select string_agg(name, ' and ' order by name) from pg_settings
      where name in ('fsync', 'full_page_writes') and setting = 'off') as off,
    (select string_agg(quote_ident(name), ', ' order by name)
      from (
        select tgname from pg_trigger
        -- 2 is the bit of BEFORE (pg_trigger.h). The others run in replicas only, or never.
        where tgrelid = to_regclass('plants') and tgtype & 2 = 2 and tgenabled in ('O', 'A') and not tgisinternal
        union all
        select rulename from pg_rewrite where ev_class = to_regclass('plants') and ev_enabled in ('O', 'A')
      ) as enabled (name)) as triggers
  `.execute(database.sql);
  const server = rows.flatMap(({ off, triggers }) => [
    off === null ? undefined : `a power loss can destroy the database: switch ${off} on in Postgres`,
    triggers === null
      ? undefined
      : `triggers or rules on plants may change or drop a plant, whose response has what was sent: ${triggers}`,
  ]);
  return [await wraparoundProblem(database), ...server];
}
