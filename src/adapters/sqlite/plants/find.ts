import type { PlantStore } from '../../../application/ports.ts';
import type { Stored } from '../../../domain/plant.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { type PlantRow, SIZE, storedIn } from './columns.ts';

/** Finds plants by their ids, as many in one slice as a read returns. */
export function plantFinder({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): PlantStore['find'] {
  const select = statement<PlantRow>(sql, 'select id, name, tag, deleted from plants where id = ?');

  function findSome(ids: readonly bigint[]): Stored[] {
    const found: Stored[] = [];
    let size = 0;
    for (const id of ids) {
      const row = select.get(id);
      const stored = row && storedIn(row);
      found.push(stored);
      size += SIZE.of(stored);
      if (size > SIZE.read) break;
    }
    return found;
  }

  return async (ids, until) => {
    const found: Stored[] = [];
    while (found.length < ids.length) found.push(...(await read(() => findSome(ids.slice(found.length)), until)));
    return found;
  };
}
