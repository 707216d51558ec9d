import type { PlantRepository } from '../../../application/ports.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { type PlantRow, storedIn } from './columns.ts';

/** Finds plants by their ids. */
export function plantFinder({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): PlantRepository['find'] {
  const select = statement<PlantRow>(sql, 'select id, name, tag, deleted from plants where id = ?');

  return (id) =>
    read(() => {
      const row = select.get(id);
      return row && storedIn(row);
    });
}
