import { advised } from './adapters/postgres/advice.ts';
import { embeddedDatabase, requireEmbeddedDatabase } from './adapters/postgres/embedded.ts';
import { migrateDown, migrateUp, migrationStatus } from './adapters/postgres/migrator.ts';
import { postgresServer } from './adapters/postgres/server.ts';
import { createLog } from './composition/log.ts';
import { readMigrationConfig } from './config/config.ts';
import { environment } from './config/environment.ts';

/* npm run migrate [up|down|status]: changes or shows the schema of the configured database. */

const [command = 'up', ...rest] = process.argv.slice(2);

try {
  if (!['up', 'down', 'status'].includes(command) || rest.length > 0) {
    throw new Error('Usage: npm run migrate [-- up|down|status]');
  }
  const config = readMigrationConfig(environment());
  if (config.kind === 'embedded' && command !== 'up') await requireEmbeddedDatabase(config.dataDir);
  const database =
    config.kind === 'postgres'
      ? postgresServer({ ...config, poolSize: 1, statementTimeout: 0 }, await createLog('silent'))
      : await embeddedDatabase(config.dataDir);
  try {
    if (command === 'up') report('applied', await migrateUp(database));
    if (command === 'down') report('taken back', await migrateDown(database));
    const { applied, pending, unknown } = await migrationStatus(database);
    for (const name of applied)
      console.log(`${name}: ${unknown.includes(name) ? 'applied by a newer version' : 'applied'}`);
    for (const name of pending) console.log(`${name}: pending`);
  } finally {
    await database.close();
  }
} catch (thrown) {
  const error = advised(thrown);
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function report(done: string, names: readonly string[]): void {
  console.log(names.length === 0 ? `nothing to do` : `${done}: ${names.join(', ')}`);
}
