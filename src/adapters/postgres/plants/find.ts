import { sql } from 'kysely';
import type { PlantStore } from '../../../application/ports.ts';
import type { Database } from '../database.ts';
import { inParts } from '../in-parts.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, type PlantRow, storedIn } from './columns.ts';

/** Finds plants by their ids in one statement. */
export function plantFinder({ sql: tables }: Database, run: Run): PlantStore['find'] {
  const selectPlants = statement<{ ids: readonly bigint[] }, PlantRow>((parameter) =>
    sql<PlantRow>`
      select id, name, tag, deleted is not null as is_deleted
      from plants where id = any(${parameter('ids')}::bigint[]) and ${FAIL_ON_STANDBY}`.compile(tables),
  );

  return (all, until) =>
    inParts(all, async (ids, mayRepeat) => {
      const query = selectPlants({ ids });
      const { rows } = await run('reads', () => tables.executeQuery(query), { until, mayRepeat });
      const found = new Map(rows.map((row) => [row.id, storedIn(row)]));
      return ids.map((id) => found.get(id));
    });
}
