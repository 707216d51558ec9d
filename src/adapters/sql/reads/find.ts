import { sql } from 'kysely';
import type { PlantRepository } from '../../../application/ports.ts';
import type { Stored } from '../../../domain/plant.ts';
import { type BatchOptions, batch } from '../batch.ts';
import { type PlantRow, storedIn } from '../plant-rows.ts';
import type { Executor } from '../run.ts';
import { readItems } from '../split-on-failure.ts';
import { statement } from '../statement.ts';

/** Finds plants by their ids. Those that are wanted at the same time share a statement. */
export function plantFinder(executor: Executor, options: BatchOptions): PlantRepository['find'] {
  const selectPlants = statement<{ ids: readonly bigint[] }, PlantRow>(
    (parameter, { isOneOf, isCurrent }) => sql<PlantRow>`
      select id, name, tag, deleted from plants where ${isOneOf(sql`id`, parameter('ids'))} and ${isCurrent}`,
    'find_plants',
  );

  return batch<bigint, Stored>(
    (take) =>
      readItems(executor, take(), async (session, ids) => {
        const rows = await selectPlants(session, { ids });
        const plants = new Map(rows.map((row) => [row.id, storedIn(row)]));
        return ids.map((id) => plants.get(id));
      }),
    options,
  );
}
