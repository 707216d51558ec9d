import type { Logger } from 'pino';
import type { Database } from '../adapters/postgres/database.ts';
import { embeddedDatabase } from '../adapters/postgres/embedded.ts';
import { migrateUp } from '../adapters/postgres/migrator.ts';
import { postgresServer } from '../adapters/postgres/server.ts';
import type { DatabaseConfig } from '../config/config.ts';

/** Opens the configured database. It migrates the embedded one, since nobody else does. */
export async function openDatabase(config: DatabaseConfig, log: Logger): Promise<Database> {
  if (config.kind === 'postgres') return postgresServer(config, log);
  const database = await embeddedDatabase(config.dataDir);
  try {
    await migrateUp(database);
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}
