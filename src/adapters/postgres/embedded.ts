import { access, chmod, constants, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Kysely, PGliteDialect } from 'kysely';
import type { Database, Tables } from './database.ts';
import { lockFolder } from './folder-lock.ts';

/**
 * Opens the embedded database (PGlite: real Postgres in this process), made on first use, in a folder that no other
 * process has open.
 *
 * @throws Error, saying what to do, if another process holds the folder or it cannot be written.
 */
export async function embeddedDatabase(dataDir: string): Promise<Database> {
  await makeWritable(dataDir);
  const unlock = lockFolder(dataDir);
  try {
    // Only now: it takes a hundred megabytes, which a service on a Postgres server should not pay.
    const { PGlite } = await import('@electric-sql/pglite');
    const folder = join(dataDir, 'postgres');
    await mkdir(folder, { recursive: true });
    // PGlite's files can be written by everyone.
    await chmod(folder, 0o700);
    const pglite = await PGlite.create(folder);
    const sql = new Kysely<Tables>({ dialect: new PGliteDialect({ pglite }) });
    return {
      sql,
      connections: 1,
      description: `the embedded database in ${resolve(dataDir)}`,
      async close() {
        // Kysely closes only what it has used.
        await sql.destroy();
        if (!pglite.closed) await pglite.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

async function makeWritable(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code;
    throw new Error(
      `${folder} is no folder that can be written (${reason}): mend that, or set DATA_DIR to another one`,
    );
  }
}
