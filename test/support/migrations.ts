import { readdirSync } from 'node:fs';
import { Migrator } from 'kysely/migration';
import type { Database } from '../../src/adapters/postgres/connections/pool.ts';
import { migrations as provider } from '../../src/adapters/postgres/schema/migration-status.ts';
import { type Outcome, projectFile, runCommand } from './service-process.ts';

/** The names of all migrations, in their order. */
export const migrations = readdirSync(projectFile('migrations'))
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();

/** Applies all up to this one to a database without a table, as the version did that had no later ones. */
export async function migrateTo(name: string, { sql: db }: Database): Promise<void> {
  const known = await provider.getMigrations();
  for (const next of migrations.slice(0, migrations.indexOf(name) + 1)) {
    const disableTransactions = known[next]?.transaction === false;
    const { error } = await new Migrator({ db, provider, disableTransactions }).migrateTo(next);
    if (error !== undefined) throw error;
  }
}

/** Runs `npm run migrate` with these arguments to its end. */
export async function runMigrate(environment: Record<string, string>, ...args: string[]): Promise<Outcome> {
  return runCommand('migrate', args, environment);
}
