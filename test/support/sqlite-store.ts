import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabaseFile } from '../../src/adapters/sqlite/file/database-file.ts';
import { sqliteStore } from '../../src/adapters/sqlite/store.ts';
import { batchedPlants } from '../../src/application/batched-plants.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { atEnd } from './lifetimes.ts';
import { temporaryFolder } from './service-process.ts';

/** A folder in which the service uses SQLite, until the end of the test. */
export async function sqliteFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'plants.db'), '');
  return folder;
}

/** Opens a database in a folder, a new one if none is given, as the service does, until the end of the test. */
export async function openSqlite(folder?: string, timeout = 20_000) {
  const ended: string[] = [];
  const file = await openDatabaseFile(folder ?? (await temporaryFolder()), {
    timeout,
    say: () => {},
    end: (reason) => ended.push(reason),
  });
  let isOpen = true;
  const close = () => {
    if (isOpen) file.close();
    isOpen = false;
  };
  atEnd(close);
  return { ...file, close, ended };
}

/** The plants in a file, as the service keeps them. */
export function sqlitePlants(file: Awaited<ReturnType<typeof openSqlite>>, timeout = 20_000) {
  const store = sqliteStore(file);
  const options = { maxItems: 1, maxRunning: Number.POSITIVE_INFINITY, timeout };
  return { ...store, ...batchedPlants(store, options) };
}

/** Every plant that is stored. */
export async function plantsInSqlite({ sql }: Awaited<ReturnType<typeof openSqlite>>): Promise<NewPlant[]> {
  const rows = sql.prepare('select id, name, tag from plants where deleted is null').all();
  return rows.map(({ id, name, tag }) => ({ id, name, ...(tag !== null && { tag }) }) as NewPlant);
}
