import { openDatabaseFile } from '../../src/adapters/sqlite/file/database-file.ts';
import { sqliteStore } from '../../src/adapters/sqlite/store.ts';
import { batchedPlants } from '../../src/application/batched-plants.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { atEnd } from './lifetimes.ts';
import { temporaryFolder } from './service-process.ts';

/** Opens a database in a folder, a new one if none is given, as the service does, until the end of the test. */
export async function openEmbedded(folder?: string, timeout = 20_000) {
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
export function embeddedPlants(file: Awaited<ReturnType<typeof openEmbedded>>, timeout = 20_000) {
  const store = sqliteStore(file);
  const options = { maxItems: 1, maxRunning: Number.POSITIVE_INFINITY, timeout };
  return { ...store, ...batchedPlants(store, options) };
}

/** Every plant that is stored. */
export async function plantsInFile({ sql }: Awaited<ReturnType<typeof openEmbedded>>): Promise<NewPlant[]> {
  const rows = sql.prepare('select id, name, tag from plants where deleted is null').all();
  return rows.map(({ id, name, tag }) => ({ id, name, ...(tag !== null && { tag }) }) as NewPlant);
}

/** The same of a folder that no service has open. */
export async function storedPlantsIn(folder: string): Promise<NewPlant[]> {
  const file = await openEmbedded(folder);
  const plants = await plantsInFile(file);
  file.close();
  return plants;
}
