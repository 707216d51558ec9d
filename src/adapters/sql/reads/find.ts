import { sql } from 'kysely';
import type { Stored } from '../../../domain/plant.ts';
import type { Entry } from '../batch.ts';
import type { Failure } from '../dialect.ts';
import { readInParts } from '../in-parts.ts';
import { type PlantRow, storedIn } from '../plant-rows.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';

/** Finds plants by their ids: settles the entries of a list. */
export function plantFinder(run: Run, failureOf: (error: unknown) => Failure) {
  const selectPlants = statement<{ ids: readonly bigint[] }, PlantRow>(
    (parameter, { isOneOf, isCurrent }) => sql<PlantRow>`
      select id, name, tag, deleted from plants where ${isOneOf(sql`id`, parameter('ids'))} and ${isCurrent}`,
    'find_plants',
  );

  return (list: readonly Entry<bigint, Stored>[]): Promise<void> =>
    readInParts(list, failureOf, async (ids, options) => {
      const rows = await run('reads', (session) => selectPlants(session, { ids }), options);
      const found = new Map(rows.map((row) => [row.id, storedIn(row)]));
      return ids.map((id) => found.get(id));
    });
}
