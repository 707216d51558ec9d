import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDatabaseFile } from '../../src/adapters/sqlite/file/database-file.ts';
import type { ChangeLog } from '../../src/application/changes/log.ts';
import { plantsOn } from '../../src/bootstrap/plants.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { atEndOrBefore } from './lifetimes.ts';
import type { UncheckedPlants } from './plants/unchecked-plants.ts';
import { temporaryFolder } from './service-process.ts';

/** Opens a database in a folder, a new one if none is given, as the service does, until the end of the test. */
export async function openEmbedded(folder?: string, timeout = 20_000) {
  const ended: string[] = [];
  const file = await openDatabaseFile(folder ?? (await temporaryFolder()), {
    timeout,
    say: () => {},
    end: (reason) => ended.push(reason),
  });
  return { ...file, timeout, close: atEndOrBefore(file.close), ended };
}

/** The plants in a file, as the service keeps them. */
export function embeddedPlants(
  file: Awaited<ReturnType<typeof openEmbedded>>,
): UncheckedPlants & Pick<ChangeLog, 'stopWaiting' | 'readEntries'> {
  return plantsOn(file, { timeout: file.timeout, maxRunning: 1 });
}

/** Every plant that is stored. */
export async function plantsInFile({ sql }: Awaited<ReturnType<typeof openEmbedded>>): Promise<NewPlant[]> {
  const rows = sql.prepare('select id, name, tag from plants where deleted is null').all();
  return rows.map(({ id, name, tag }) => ({ id, name, ...(tag !== null && { tag }) }) as NewPlant);
}

/** Writes as a command beside the service does, which leaves all in the WAL: plants of a megabyte, with ids and changes from 1 on. */
export function writeBeside(folder: string, plants: number): void {
  const command = new DatabaseSync(join(folder, 'plants.db'), { timeout: 20_000 });
  command.exec(
    `pragma wal_autocheckpoint = 0;
     with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${plants})
     insert into plants (id, name, changed) select n, hex(zeroblob(500000)), n from numbers`,
  );
  command.close();
}

/** The plants of a folder that no service has open. */
export async function storedPlantsIn(folder: string): Promise<NewPlant[]> {
  const file = await openEmbedded(folder);
  const plants = await plantsInFile(file);
  await file.close();
  return plants;
}
