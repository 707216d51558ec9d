import { existsSync } from 'node:fs';
import { cp, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { embeddedDatabase } from '../../src/adapters/postgres/embedded/embedded-database.ts';
import { eventually } from './eventually.ts';

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
