import type { Database } from './adapters/postgres/connections/pool.ts';
import { damagedMigrations, migrationStatus } from './adapters/postgres/schema/migration-status.ts';
import { migrateUp } from './adapters/postgres/schema/migrator.ts';
import { withStore } from './bootstrap/open-store.ts';
import { withDatabase } from './bootstrap/postgres-store.ts';
import { runCommand } from './cli/run-command.ts';
import { readDatabaseConfig } from './config/config.ts';

/* npm run migrate [up|status|renew-feed]: changes or shows the schema of the configured database. */

const USAGE = `Usage: npm run migrate [-- up | status | renew-feed]

Changes or shows the schema of the database of MIGRATION_DATABASE_URL, else of DATABASE_URL, else of the embedded one in
DATA_DIR.

  up           applies what is pending, and makes again what is missing; the same without a command
  status       shows what is applied
  renew-feed   ends all positions in the feed of changes: after a disk or a folder was set back to a copy, or rows were
               restored into a table that stayed (docs/postgres.md)

Exit codes: 0 done; 1 it did not begin, or could not go on.`;

await runCommand('migrate', USAGE, migrationArguments, run);

function migrationArguments(args: readonly string[]) {
  const [command = 'up', ...more] = args;
  if (!['up', 'status', 'renew-feed'].includes(command) || more.length > 0) {
    throw new Error(`${args.join(' ')} is no command: it must be up, status or renew-feed`);
  }
  return command;
}

async function run(command: string): Promise<void> {
  const config = readDatabaseConfig();
  if (command === 'renew-feed') {
    await withStore(({ renewLog }) => renewLog());
    console.log('the feed of changes has a new identity: its consumers start again');
  } else if (config.kind === 'embedded') {
    await withStore(async () => console.log('nothing to do: the service updates this database when it starts'));
  } else {
    // A migration may take as long as it needs.
    await withDatabase({ ...config, poolSize: 1, statementTimeout: 0 }, async (database) => {
      if (command === 'status') return reportStatus(database);
      const names = await migrateUp(database, console.log);
      for (const name of names) console.log(`${name}: applied`);
      if (names.length === 0) console.log('nothing to do: all migrations are applied');
    });
  }
}

async function reportStatus(database: Database): Promise<void> {
  const { applied, pending, unknown } = await migrationStatus(database);
  const damaged = await damagedMigrations(database);
  for (const name of applied) {
    const byNewer = unknown.includes(name) ? ' by a newer version' : '';
    const isDamaged = byNewer === '' && damaged.includes(name);
    const advice = isDamaged ? ', but what it made is missing or incomplete: run npm run migrate' : '';
    console.log(`${name}: applied${byNewer}${advice}`);
  }
  for (const name of pending) console.log(`${name}: pending`);
}
