import { sql as fragment } from 'kysely';
import type { NewPlant } from '../../domain/plant.ts';
import type { Database } from './database.ts';
import { storedIn } from './plant-statements.ts';

/**
 * Makes the commit of this SELECT, and so its response, wait for the synchronous standby if one is configured: after a
 * crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary. Evaluated
 * once, since it refers to no row.
 */
const AWAIT_STANDBY = fragment`(
  select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> ''
)`;

/**
 * Reads what is stored under these ids, after a write that has left some of them as they were: its own snapshot does not
 * include the rows that made it do so. What this returns is durable.
 *
 * @returns nothing for an id that is free
 */
export async function lookUp(
  { sql }: Database,
  ids: readonly bigint[],
): Promise<ReadonlyMap<bigint, NewPlant | 'deleted'>> {
  const rows = await sql
    .selectFrom('plants')
    .select(['id', 'name', 'tag', AWAIT_STANDBY.as('awaited')])
    .select(({ eb }) => eb('deleted', 'is not', null).as('is_deleted'))
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [BigInt(row.id), storedIn({ ...row, is_deleted: Boolean(row.is_deleted) })]));
}
