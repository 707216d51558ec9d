import { sql } from 'kysely';
import type { Stored } from '../../../domain/plant.ts';
import type { Call } from '../batch.ts';
import { type PlantRow, storedIn } from '../plant-rows.ts';
import type { Executor } from '../run.ts';
import { readList } from '../split-on-failure.ts';
import { statement } from '../statement.ts';

/** Finds plants by their ids: settles the calls of a list. */
export function plantFinder(executor: Executor) {
  const selectPlants = statement<{ ids: readonly bigint[] }, PlantRow>(
    (parameter, { isOneOf, isCurrent }) => sql<PlantRow>`
      select id, name, tag, deleted from plants where ${isOneOf(sql`id`, parameter('ids'))} and ${isCurrent}`,
    'find_plants',
  );

  return (list: readonly Call<bigint, Stored>[]): Promise<void> =>
    readList(executor, list, async (session, ids) => {
      const rows = await selectPlants(session, { ids });
      const found = new Map(rows.map((row) => [row.id, storedIn(row)]));
      return ids.map((id) => found.get(id));
    });
}
