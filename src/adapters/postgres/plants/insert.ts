import { sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import type { Database } from '../database.ts';
import { statement } from '../statement.ts';
import { idsOf } from './columns.ts';

/** Creates a function that inserts the plants whose ids are free, in one statement. It resolves to the ids of these. */
export function plantInserter({ sql: tables, isDistributed }: Database) {
  // Prepared (docs/decisions.md): it reads no table, so its plan stays right for every list.
  const insert = statement<Record<'ids' | 'names' | 'tags', readonly unknown[]>, { readonly id: bigint }>(
    (parameter) =>
      sql<{ readonly id: bigint }>`insert into plants (id, name, tag)
        select * from unnest(${parameter('ids')}::bigint[], ${parameter('names')}::text[], ${parameter('tags')}::text[])
        on conflict (id) do nothing returning id`.compile(tables),
    'insert_plants',
  );

  /** Citus would insert the rows of a SELECT shard by shard. */
  const insertOnCitus = (plants: readonly NewPlant[]) =>
    tables
      .insertInto('plants')
      .values(plants.map(({ id, name, tag = null }) => ({ id, name, tag })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute();

  return async (plants: readonly NewPlant[]): Promise<Set<bigint>> => {
    // In a fixed order: two statements that insert the same ids in different orders would deadlock.
    const sorted = plants.length === 1 ? plants : [...plants].sort((a, b) => (a.id < b.id ? -1 : 1));
    if (await isDistributed()) return idsOf(await insertOnCitus(sorted));
    const { rows } = await tables.executeQuery(
      insert({
        ids: sorted.map(({ id }) => id),
        names: sorted.map(({ name }) => name),
        tags: sorted.map(({ tag = null }) => tag),
      }),
    );
    return idsOf(rows);
  };
}
