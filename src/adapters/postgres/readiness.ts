import { CompiledQuery, sql } from 'kysely';
import type { Logger } from 'pino';
import { PlantStoreError } from '../../domain/errors.ts';
import { endpointsProblem } from '../feed/known-endpoint.ts';
import { sharedRun } from '../feed/shared-run.ts';
import { MAY_NAME } from './changes/change-epoch.ts';
import { requireChangeFeed } from './changes/change-feed-check.ts';
import { nodesCheck } from './citus.ts';
import type { Database } from './database.ts';
import { SchemaError, sqlState, UNDEFINED_TABLE } from './errors.ts';
import type { fullDisk } from './full-disk.ts';
import { isReadOnlyPrimary, withServerAdvice } from './schema/advice.ts';
import { dangers } from './schema/dangers.ts';
import { requireMigrations } from './schema/schema-gate.ts';

interface ReadinessOptions {
  /** Gets what the check resolves to, once. */
  readonly log?: Pick<Logger, 'warn'>;
  readonly disk?: Pick<ReturnType<typeof fullDisk>, 'problem'>;
}

/**
 * Creates the check that plants can be stored and read now and would be durable. It rejects, saying what to do, if they
 * cannot. It resolves to what does not work although they can, and what to do, or to undefined if everything works.
 * Callers share a run, which may take longer than a caller waits.
 *
 * @param webhooks their endpoints
 */
export function readiness(
  database: Database,
  webhooks: readonly { readonly name: string }[] = [],
  { log, disk }: ReadinessOptions = {},
): () => Promise<string | undefined> {
  const endpoints = webhooks.map(({ name }) => name);
  const nodesProblem = nodesCheck(database);
  let logged: string | undefined;
  return sharedRun(async () => {
    let isPrimary: Promise<boolean> | undefined;
    try {
      // First: what else fails then only follows from it.
      await requireMigrations(database);
      // Before the insert: a server that refuses it gets no new connection for a while.
      isPrimary = isReadOnlyPrimary(database);
      // At once: one after another, they would take longer than a probe waits if the database is far away or busy.
      const [problem, found, setting] = await Promise.all([
        tableProblem(database, endpoints.length > 0),
        dangers(database),
        database.verify(),
        database.sql.executeQuery(CompiledQuery.raw(INSERT_NOTHING)),
      ]);
      const first =
        problem ??
        (await nodesProblem()) ??
        (await unlessMissing('change_feed', feedProblem(database))) ??
        (await unlessMissing('webhooks', problemOfEndpoints(database, endpoints)));
      const problems = [disk?.problem(), first, setting, ...found];
      const all = problems.filter((one) => one !== undefined).join('; ');
      if (all !== '' && all !== logged) log?.warn({ problem: all }, 'ready, but something is wrong with the database');
      logged = all;
      return all || undefined;
    } catch (error) {
      throw withServerAdvice(error, (await isPrimary) ?? false);
    }
  });
}

/** Which of these endpoints get nothing until somebody acts. */
async function problemOfEndpoints(
  { sql: database }: Database,
  endpoints: readonly string[],
): Promise<string | undefined> {
  if (endpoints.length === 0) return undefined;
  const rows = await database
    .selectFrom('webhooks')
    .select(['endpoint', 'reason', 'parked as isParked'])
    .where('endpoint', 'in', endpoints)
    .execute();
  return endpointsProblem(endpoints, rows);
}

/**
 * Inserts nothing, yet fails where an insert would and a read would not: on a standby, on a demoted primary (whose
 * connection is then dropped), without the INSERT privilege, while the table is locked, or if it is a different table.
 * The largest id only fits a bigint column.
 */
const INSERT_NOTHING = `insert into plants (id, name, tag)
  select ${2n ** 63n - 1n}, ''::text, null::text where false on conflict (id) do nothing returning id`;

/** The major version of Postgres that CI runs the tests of the database on, beside the newest one. */
const OLDEST_VERSION = 14;

/**
 * Detects what an insert does not.
 *
 * @returns what does not work, in words: a version without changes and deletions needed fewer privileges, for example
 */
async function tableProblem({ sql: database }: Database, hasWebhooks: boolean): Promise<string | undefined> {
  const { rows } = await sql<{
    major: number;
    canUpdate: boolean;
    canFollow: boolean;
    canName: boolean;
    canDeliver: boolean;
  }>`
    select current_setting('server_version_num')::int / 10000 as major,
      has_table_privilege(oid, 'update') as "canUpdate",
      coalesce(has_table_privilege(to_regclass('change_feed'), 'select'), true) as "canFollow",
      to_regclass('change_feed') is null or ${MAY_NAME} as "canName",
      coalesce((select bool_and(has_table_privilege(to_regclass('webhooks'), need))
        from unnest(array['select', 'insert', 'update']) as need), true) as "canDeliver"
    from pg_class where oid = to_regclass('plants')
  `.execute(database);
  const [table] = rows;
  if (table === undefined) return undefined;
  if (table.major < OLDEST_VERSION) {
    return `Postgres ${table.major} is older than ${OLDEST_VERSION}, the oldest version that is supported: upgrade it`;
  }
  const missing = [
    ...(table.canUpdate ? [] : ['UPDATE on plants, to change and delete']),
    ...(table.canFollow ? [] : ['SELECT on change_feed, for /changes']),
    ...(table.canName ? [] : ['UPDATE (store, recorded) on change_feed, so that /changes notices each promotion']),
    ...(table.canDeliver || !hasWebhooks ? [] : ['SELECT, INSERT and UPDATE on webhooks']),
  ];
  return missing.length > 0 ? `the role lacks ${missing.join(', and ')}: run GRANT as the owner` : undefined;
}

/** Why there is no feed of changes, if there is none. */
async function feedProblem(database: Database): Promise<string | undefined> {
  try {
    await requireChangeFeed(database);
    return undefined;
  } catch (error) {
    if (error instanceof PlantStoreError || error instanceof SchemaError) return error.message;
    throw error;
  }
}

/** The problem, or that the table is missing: a restore may have left it out. */
async function unlessMissing(table: string, problem: Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await problem;
  } catch (error) {
    if (sqlState(error) === UNDEFINED_TABLE) return `the table ${table} is missing: run npm run migrate`;
    throw error;
  }
}
