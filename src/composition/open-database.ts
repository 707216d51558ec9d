import type { Logger } from 'pino';
import { postgresServer } from '../adapters/postgres/connections/pool.ts';
import type { Database } from '../adapters/postgres/database.ts';
import { embeddedDatabase } from '../adapters/postgres/embedded/embedded-database.ts';
import { migrateUp } from '../adapters/postgres/schema/migrator.ts';
import type { DatabaseConfig } from '../config/config.ts';
import { say } from '../process/say.ts';

export type OpenedConfig = Exclude<DatabaseConfig, { readonly kind: 'sqlite' }>;

/** Opens the configured database. It migrates the embedded one, since nobody else does. */
export async function openDatabase(config: OpenedConfig, log: Logger): Promise<Database> {
  if (config.kind === 'postgres') return postgresServer(config, log);
  const database = await embeddedDatabase(config.dataDir, say);
  try {
    await migrateUp(database);
    await database.startUpkeep();
    return database;
  } catch (error) {
    // The reason is this error, also if it cannot be closed.
    await database.close().catch(() => {});
    throw error;
  }
}
