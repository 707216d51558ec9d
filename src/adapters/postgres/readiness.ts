import { CompiledQuery, sql } from 'kysely';
import { requireLog } from '../sql/changes/reader.ts';
import type { Session } from '../sql/dialect.ts';
import { endpointsProblem } from '../sql/webhooks/endpoints.ts';
import type { Database } from './connections/pool.ts';
import { needsOperator } from './failures.ts';
import { withAdvice } from './schema/advice.ts';
import { requireMigrations, sessionOn } from './schema/schema-gate.ts';

/**
 * Checks that plants can be stored and read now, and describes what else is wrong, with what to do.
 *
 * @param endpoints those of webhooks
 */
export async function problemsIn(database: Database, endpoints: readonly string[]): Promise<(string | undefined)[]> {
  // This comes first, since other failures then only follow from it.
  await requireMigrations(database);
  // These run concurrently: in sequence, they would outlast a probe if the database is far away or busy.
  const [ofServer, ofSettings, session] = await Promise.all([
    serverProblems(database),
    database.verify(),
    sessionOn(database),
    database.sql.executeQuery(CompiledQuery.raw(INSERT_NOTHING)),
  ]);
  const ofTables = (await session.dialect.problem?.(session)) ?? (await announcementProblem(session, endpoints));
  return [ofTables, ofSettings, ...ofServer];
}

/**
 * Inserts nothing, yet fails where an insert would and a read would not: on a standby, on a demoted primary (whose connection
 * is then dropped), without the INSERT privilege, while the table is locked, or on a different table. Only a bigint column
 * holds the largest id.
 */
const INSERT_NOTHING = `insert into plants (id, name, tag)
  select ${2n ** 63n - 1n}, ''::text, null::text where false on conflict (id) do nothing returning id`;

/** The oldest major version of Postgres on which CI runs the tests of the database. */
const OLDEST_VERSION = 14;

/** Describes settings of the server that can lose plants although every request succeeds now. */
async function serverProblems({ sql: database }: Database): Promise<string[]> {
  const { rows } = await sql<{ problem: string }>`
    select format('Postgres %s is older than ${sql.lit(OLDEST_VERSION)}, the oldest version that is supported: upgrade it',
      major) as problem
    from (select current_setting('server_version_num')::int / 10000 as major) as server
    where major < ${sql.lit(OLDEST_VERSION)}
    union all
    select format('a power loss can destroy the database: switch %s on in Postgres', string_agg(name, ' and ' order by name))
    from pg_settings where name in ('fsync', 'full_page_writes') and setting = 'off' having count(*) > 0
  `.execute(database);
  return rows.map(({ problem }) => problem);
}

/** Describes why plants are not announced. A restore may have omitted a table. */
async function announcementProblem(session: Session, endpoints: readonly string[]): Promise<string | undefined> {
  try {
    await requireLog(session);
    return await endpointsProblem(session, endpoints);
  } catch (error) {
    if (needsOperator(error)) return withAdvice(error).message;
    throw error;
  }
}
