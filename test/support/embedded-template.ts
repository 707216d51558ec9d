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

/* What takes seconds to make is made by the first caller in a run, and all get copies. */

const makers = {
  /** As the service makes it on first use, before it applies the migrations. */
  async empty(folder: string): Promise<void> {
    await (await embeddedDatabase(folder)).close();
  },
  async migrated(folder: string): Promise<void> {
    await putEmbeddedDatabase(folder, 'empty');
    const database = await embeddedDatabase(folder);
    await migrateUp(database);
    await database.close();
  },
};

/** Puts an embedded database into a folder. */
export async function putEmbeddedDatabase(folder: string, kind: keyof typeof makers = 'migrated'): Promise<void> {
  const template = join(process.env.TEST_FOLDER ?? '', kind);
  const [unfinished, finished] = [join(template, 'unfinished'), join(template, 'finished')];
  if (await isFirst(template)) {
    await makers[kind](unfinished);
    await rename(unfinished, finished);
  } else {
    await eventually(() => existsSync(finished), 300_000);
  }
  await cp(finished, folder, { recursive: true });
}

/** A folder with such a database, until the end of the test. */
export async function embeddedFolder(kind?: keyof typeof makers): Promise<string> {
  const folder = await temporaryFolder();
  await putEmbeddedDatabase(folder, kind);
  return folder;
}

/** Opens one, until the end of the test. All that are migrated have one identity of the feed, since they are copies. */
export async function openEmbedded(kind?: keyof typeof makers): Promise<Database> {
  const database = await embeddedDatabase(await embeddedFolder(kind));
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
