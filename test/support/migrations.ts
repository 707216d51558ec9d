import { readdirSync } from 'node:fs';
import { expect } from '@jest/globals';
import type { Database } from '../../src/adapters/postgres/database.ts';
import { migrateDown } from '../../src/adapters/postgres/schema/migrator.ts';
import { type Outcome, projectFile, startNode, temporaryFolder } from './service-process.ts';
import { connect, emptyDatabase } from './test-database.ts';

/** The names of all migrations, in their order. */
export const migrations = readdirSync(projectFile('migrations'))
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();

/** Those that come after this one. */
export const laterThan = (name: string) => migrations.slice(migrations.indexOf(name) + 1);

/** A database without a table, its statements without a deadline as those of migrations. */
export const openEmpty = async (): Promise<Database> => connect((await emptyDatabase()).url, { statementTimeout: 0 });

/** Reverts all that come after this one, which delete no plants. */
export async function revertTo(name: string, database: Database): Promise<void> {
  for (const later of laterThan(name).toReversed()) {
    expect(await migrateDown(database, { deletePlants: false })).toEqual([later]);
  }
}

/** Runs `npm run migrate` with these arguments to its end. */
export async function runMigrate(environment: Record<string, string>, ...args: string[]): Promise<Outcome> {
  return startNode([projectFile('src/migrate.ts'), ...args], await temporaryFolder(), environment).outcome();
}
