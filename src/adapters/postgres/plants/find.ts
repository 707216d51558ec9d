import { sql } from 'kysely';
import type { Stored } from '../../../domain/plant.ts';
import type { Entry } from '../batch.ts';
import type { Database } from '../database.ts';
import { readInParts } from '../in-parts.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, type PlantRow, storedIn } from './columns.ts';

/** Finds plants by their ids. */
export function plantFinder({ sql: tables }: Database, run: Run) {
  const selectPlants = statement<{ ids: readonly bigint[] }, PlantRow>((parameter) =>
    sql<PlantRow>`select id, name, tag, deleted is not null as is_deleted
      from plants where id = any(${parameter('ids')}::bigint[]) and ${FAIL_ON_STANDBY}`.compile(tables),
  );

  return (list: readonly Entry<bigint, Stored>[]): Promise<void> =>
    readInParts(list, async (ids, options) => {
      const { rows } = await run('reads', () => tables.executeQuery(selectPlants({ ids })), options);
      const found = new Map(rows.map((row) => [row.id, storedIn(row)]));
      return ids.map((id) => found.get(id));
    });
}
