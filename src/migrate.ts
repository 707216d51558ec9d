import { pino } from 'pino';
import { withAdvice } from './adapters/postgres/advice.ts';
import type { Database } from './adapters/postgres/database.ts';
import { embeddedDatabase, requireEmbeddedDatabase } from './adapters/postgres/embedded.ts';
import { damagedMigrations, migrateDown, migrateUp, migrationStatus } from './adapters/postgres/migrator.ts';
import { postgresServer } from './adapters/postgres/server.ts';
import { readMigrationConfig } from './config/config.ts';
import { environment } from './config/environment.ts';

/* npm run migrate [up|status|down]: changes or shows the schema of the configured database. */

const [command = 'up', ...flags] = process.argv.slice(2);
const deletePlants = command === 'down' && flags.length === 1 && flags[0] === '--delete-plants';

try {
  if (!['up', 'status', 'down'].includes(command) || (flags.length > 0 && !deletePlants)) {
    throw new Error('Usage: npm run migrate [-- up | status | down [--delete-plants]]');
  }
  const config = readMigrationConfig(environment());
  if (config.kind === 'embedded' && command !== 'up') await requireEmbeddedDatabase(config.dataDir);
  const database =
    config.kind === 'postgres'
      ? postgresServer({ ...config, poolSize: 1, statementTimeout: 0 }, pino({ level: 'silent' }))
      : await embeddedDatabase(config.dataDir);
  try {
    if (command === 'up') report(await migrateUp(database), 'applied');
    if (command === 'down') report(await migrateDown(database, { deletePlants }), 'reverted');
    if (command === 'status') await reportStatus(database);
  } finally {
    await database.close();
  }
} catch (thrown) {
  const error = withAdvice(thrown);
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function report(names: readonly string[], done: string): void {
  console.log(names.length === 0 ? 'nothing to do' : names.map((name) => `${name}: ${done}`).join('\n'));
}

async function reportStatus(database: Database): Promise<void> {
  const { applied, pending, unknown } = await migrationStatus(database);
  const damaged = await damagedMigrations(database);
  const stateOf = (name: string) => {
    if (unknown.includes(name)) return 'applied by a newer version';
    return damaged.includes(name)
      ? 'applied, but what it made is missing or incomplete: run npm run migrate'
      : 'applied';
  };
  for (const name of applied) console.log(`${name}: ${stateOf(name)}`);
  for (const name of pending) console.log(`${name}: pending`);
}
