import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { EPOCH } from './change-epoch.ts';
import { requireOneServer } from './change-feed-check.ts';

/*
 * Servers that are promoted or restored apart from each other may number their timelines alike. So each timeline gets an
 * identity of its own: a random one in `store`, whose epoch is the key in `recorded`. A server that has both columns from
 * another timeline lacks the key of its own. Instances from before 1.0.0 store numbers as the values, and treat the keys as
 * epochs whose positions stay valid, so only the newest key is kept.
 */

/** `store` in EPOCH is the new one. @param store of the row as it was */
const renewed = (store: RawBuilder<unknown>) => sql`
  update change_feed set (store, recorded) = (
    select store, jsonb_build_object(${EPOCH}, 0) from (select ${store} as store) as renewed
  ) where single = 1`;

/** Of the first reader of a timeline. Those who come at the same time wait for it, and change nothing. */
export const nameTimeline = sql`
  ${renewed(sql`case when recorded = '{}' then store else gen_random_uuid() end`)} and not recorded ? ${EPOCH}`;

/**
 * Ends all positions of consumers, for restores that nothing shows.
 *
 * @throws PlantStoreError `changes_unavailable`, or SchemaError
 */
export async function renewFeed(database: Database): Promise<void> {
  await requireOneServer(database);
  const { rows } = await sql`${renewed(sql`gen_random_uuid()`)} returning 1`.execute(database.sql);
  if (rows.length === 0) throw new SchemaError('the table change_feed has no row: run npm run migrate');
}
