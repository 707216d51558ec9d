import type { PlantStore } from '../../../application/ports.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { type PlantRow, storedIn } from './columns.ts';

/** Finds plants by their ids, in one slice. */
export function plantFinder({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): PlantStore['find'] {
  const select = statement<PlantRow>(sql, 'select id, name, tag, deleted from plants where id = ?');
  const find = (id: bigint) => {
    const row = select.get(id);
    return row && storedIn(row);
  };
  return (ids, until) => read(() => ids.map(find), until);
}
