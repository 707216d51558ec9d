import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { inOwnFolder, runCommand } from './cli/run-command.ts';
import { readDatabaseConfig } from './config/config.ts';
import { say } from './runtime/say.ts';

/* npm run backup: copies the embedded database (docs/operations.md). */

const USAGE = `Usage: npm run backup -- FILE

Writes a copy of the embedded database in DATA_DIR to FILE, whole and as of one moment, also while the service runs. To
restore it, stop the service, move plants.db, plants.db-wal and plants.db-shm out of DATA_DIR, and put the copy there as
plants.db. Consumers of /changes start again then, and webhooks go on where they were. A backup that is killed leaves a
folder FILE.unfinished-..., which you may delete.

Exit codes: 0 done; 1 there is no copy.`;

await runCommand('backup', USAGE, backupArguments, run);

function backupArguments(args: string[]): string {
  const { positionals } = parseArgs({ args, options: {}, allowPositionals: true });
  const [file, ...more] = positionals;
  if (!file || more.length > 0) throw new Error('name one file for the copy');
  return file;
}

async function run(file: string): Promise<void> {
  const config = readDatabaseConfig();
  if (config.kind === 'postgres') {
    throw new Error('DATABASE_URL is set: pg_dump copies a database of Postgres (docs/postgres.md)');
  }
  say(`On: ${resolve(config.dataDir)}`);
  const { backUp } = await import('./adapters/sqlite/backup.ts');
  await backUp(config.dataDir, inOwnFolder('backup', file));
  console.log(`${file} is a copy of all that was stored when the command began`);
}
