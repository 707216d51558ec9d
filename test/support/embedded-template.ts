import { existsSync } from 'node:fs';
import { cp, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../src/adapters/postgres/database.ts';
import { embeddedDatabase } from '../../src/adapters/postgres/embedded/embedded-database.ts';
import { migrateUp } from '../../src/adapters/postgres/schema/migrator.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { eventually } from './eventually.ts';
import { atEnd } from './lifetimes.ts';
import { temporaryFolder } from './service-process.ts';
import { storedPlants } from './test-database.ts';

/**
 * Puts an embedded database, as the service makes it on first use and without migrations, into a folder. Since making one
 * takes seconds, the first caller in a run makes it, and all get copies.
 */
export async function putEmbeddedDatabase(folder: string): Promise<void> {
  const template = join(process.env.TEST_FOLDER ?? '', 'embedded');
  const [unfinished, finished] = [join(template, 'unfinished'), join(template, 'finished')];
  if (await isFirst(template)) {
    const made = await embeddedDatabase(unfinished);
    await made.close();
    await rename(unfinished, finished);
  } else {
    await eventually(() => existsSync(finished));
  }
  await cp(finished, folder, { recursive: true });
}

/** A folder with such a database, until the end of the test. */
export async function embeddedFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await putEmbeddedDatabase(folder);
  return folder;
}

/** Opens such a database, with every migration applied, until the end of the test. */
export async function openEmbedded(): Promise<Database> {
  const database = await embeddedDatabase(await embeddedFolder());
  await migrateUp(database);
  let closing: Promise<void> | undefined;
  const close = () => (closing ??= database.close());
  atEnd(close);
  return { ...database, close };
}

/** Every plant in such a folder, which no other process may have open. */
export async function storedPlantsIn(folder: string): Promise<NewPlant[]> {
  const database = await embeddedDatabase(folder);
  const plants = await storedPlants(database);
  await database.close();
  return plants;
}

/** Whether no other worker of Jest has been here before. */
async function isFirst(folder: string): Promise<boolean> {
  try {
    await mkdir(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
