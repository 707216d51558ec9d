import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../../src/adapters/postgres/connections/pool.ts';
import { postgresServer } from '../../src/adapters/postgres/connections/pool.ts';
import { holderIn } from '../../src/adapters/postgres/held-back.ts';
import { problemsIn } from '../../src/adapters/postgres/readiness.ts';
import { migrateUp } from '../../src/adapters/postgres/schema/migrator.ts';
import { dialectOf } from '../../src/adapters/postgres/schema/schema-gate.ts';
import { plantPurge } from '../../src/adapters/sql/changes/purge.ts';
import { logReader } from '../../src/adapters/sql/changes/reader.ts';
import type { Dialect } from '../../src/adapters/sql/dialect.ts';
import { type PlantRow, plantIn } from '../../src/adapters/sql/plant-rows.ts';
import { storeReadiness } from '../../src/adapters/sql/readiness.ts';
import { type Executor, foreground, type Gate, runner } from '../../src/adapters/sql/run.ts';
import type { ChangeLog } from '../../src/application/changes/log.ts';
import { plantsOn } from '../../src/bootstrap/plants.ts';
import type { NewPlant } from '../../src/domain/plant.ts';
import { execute } from '../../tooling/execute.ts';
import { atEnd, atEndOrBefore } from './lifetimes.ts';
import type { UncheckedPlants } from './plants/unchecked-plants.ts';

/** A database of its own. */
export interface TestDatabase {
  /** Where the service finds it: behind the pooler at TEST_POOLER_URL, if one is given for the tests' server. */
  readonly url: string;
  /** Where migrations and tests find it. */
  readonly directUrl: string;
  /** Runs one statement as the server's superuser. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, string | null>[]>;
  /** Removes it, whoever is still connected. */
  drop(): Promise<void>;
}

/**
 * Makes an empty database, with options of CREATE DATABASE: until the end of the test on a server that others use as
 * well, or until it is dropped on the server with this address.
 */
export async function emptyDatabase(options = '', server?: string): Promise<TestDatabase> {
  const name = `plants_${randomBytes(6).toString('hex')}`;
  const url = new URL(server ?? process.env.TEST_SERVER_URL ?? '');
  await execute(url.href, `create database ${name} ${options}`);
  const own = new URL(url);
  own.pathname = name;
  let dropping: Promise<unknown> | undefined;
  const drop = async () => {
    dropping ??= execute(url.href, `drop database ${name} with (force)`);
    await dropping;
  };
  // A server that is removed after the tests need not checkpoint for each of its databases.
  if (server === undefined && process.env.TEST_DATABASE_URL) atEnd(drop);
  return {
    url: server === undefined ? behindPooler(own.href) : own.href,
    directUrl: own.href,
    query: (text, values) => execute(own.href, text, values),
    drop,
  };
}

/** The same with every migration applied, once on each server. */
export async function migratedDatabase(server?: string): Promise<TestDatabase> {
  if (server !== undefined) templates[server] ??= newTemplate(server);
  const template = server === undefined ? process.env.TEST_TEMPLATE : await templates[server];
  return emptyDatabase(`template ${template}`, server);
}

const templates: Record<string, Promise<string>> = {};
async function newTemplate(server: string): Promise<string> {
  const { directUrl } = await emptyDatabase('', server);
  await applyMigrations(directUrl);
  return new URL(directUrl).pathname.slice(1);
}

/** Applies every migration. */
export async function applyMigrations(url: string): Promise<void> {
  const database = connect(url);
  await migrateUp(database);
  await database.close();
}

function behindPooler(databaseUrl: string): string {
  const pooler = process.env.TEST_POOLER_URL;
  if (!pooler) return databaseUrl;
  const url = new URL(databaseUrl);
  url.host = new URL(pooler).host;
  return url.href;
}

/** Opens a database as the service does, until the end of the test. */
export function connect(url: string, { poolSize = 10, statementTimeout = 10_000 } = {}): Database {
  // Longer than a busy machine takes.
  const connectTimeout = 10_000;
  const database = postgresServer({ url, poolSize, statementTimeout, connectTimeout });
  return { ...database, close: atEndOrBefore(database.close) };
}

/** Asks for its dialect until it is known. */
function knownDialect(database: Database): Gate {
  let known: Dialect | undefined;
  return () => known ?? dialectOf(database).then((dialect) => (known = dialect));
}

/** The way to its statements, without a check of the schema. */
export function runnerOn(database: Database, timeout = 20_000): Executor {
  return runner(database, { gate: knownDialect(database), timeout });
}

/** What /ready says of a database, its log apart. @param endpoints those of webhooks */
export function readinessOf(database: Database, endpoints: readonly string[] = []): Promise<string | undefined> {
  return storeReadiness(() => problemsIn(database, endpoints), database.withAdvice, { warn: () => {} })();
}

/** The purge of a database. */
export function purgeOn(database: Database) {
  return plantPurge(runnerOn(database).run);
}

export type TestPlants = UncheckedPlants & ChangeLog;

/** The plants in a migrated database, as the service keeps them. */
export function plantsIn(
  database: Database,
  { timeout = 20_000, schemaReady = knownDialect(database) } = {},
): TestPlants {
  const executor = runner(database, { gate: schemaReady, timeout });
  const reader = logReader(executor.run, holderIn(database));
  return plantsOn(executor, { timeout, maxRunning: foreground(database), reader });
}

/** Every plant that is stored. */
export async function storedPlants({ sql: database }: Database): Promise<NewPlant[]> {
  const { rows } = await sql<PlantRow>`select * from plants`.execute(database);
  return rows.filter(({ deleted }) => !deleted).map((row) => plantIn({ ...row, id: BigInt(row.id) }));
}

/** The same, on a connection of its own. */
export async function storedPlantsAt(url: string): Promise<NewPlant[]> {
  const database = connect(url);
  try {
    return await storedPlants(database);
  } finally {
    await database.close();
  }
}
