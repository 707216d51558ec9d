import { sql } from 'kysely';
import type { PlantStore } from '../../../application/ports.ts';
import type { Stored } from '../../../domain/plant.ts';
import type { Database } from '../database.ts';
import { inParts } from '../in-parts.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, type PlantRow, SIZE, storedIn } from './columns.ts';

/** A row; without its texts if they are larger than the statement allows. */
type FoundRow = Omit<PlantRow, 'name'> & { readonly name: string | null };

/** Finds plants by their ids in one statement, but for large ones, which are read one by one. */
export function plantFinder({ sql: tables }: Database, run: Run): PlantStore['find'] {
  /** Without the texts of plants that have more bytes than `maxSize`. */
  const selectPlants = statement<{ ids: readonly bigint[]; maxSize: number }, FoundRow>((parameter) => {
    const isSmall = sql`${SIZE.ofRow} <= ${parameter('maxSize')}`;
    return sql<FoundRow>`
      select id, case when ${isSmall} then name end as name, case when ${isSmall} then tag end as tag,
        deleted is not null as is_deleted
      from plants where id = any(${parameter('ids')}::bigint[]) and ${FAIL_ON_STANDBY}`.compile(tables);
  });

  const find: PlantStore['find'] = (all, until) =>
    inParts(all, async (ids, mayRepeat) => {
      const maxSize = ids.length === 1 ? SIZE.any : Math.floor(SIZE.read / ids.length);
      const query = selectPlants({ ids, maxSize });
      const { rows } = await run('reads', () => tables.executeQuery(query), { until, mayRepeat });
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => {
        const row = found.get(id);
        if (row === undefined) return undefined;
        return row.name === null ? findAlone(id, until) : storedIn({ ...row, name: row.name });
      });
    });

  const findAlone = async (id: bigint, until: number): Promise<Stored> => (await find([id], until))[0];

  return find;
}
