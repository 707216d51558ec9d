import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery, sql } from 'kysely';
import { PlantStoreError } from '../../domain/errors.ts';
import { singleFlight } from '../../runtime/single-flight.ts';
import type { Dialect } from '../sql/dialect.ts';
import { contentAfter } from '../sql/plant-rows.ts';
import type { Database } from './database.ts';
import { postgres } from './dialect.ts';
import { failureOf, UnknownOutcomeError } from './failures.ts';

/** Citus, with the table `plants` distributed over its servers. */
const citus: Dialect = {
  ...postgres,
  // It runs neither a subquery there nor recursive queries over all shards together.
  hidden: (count) => count,
  forEach: undefined,
  requireTags() {
    throw new PlantStoreError('tags_unavailable', 'tags cannot be listed: the table is distributed by Citus');
  },
  distributed: {
    // The rows of a SELECT would be inserted shard by shard.
    insert: (plants) => sql`
      insert into plants (id, name, tag) values ${sql.join(plants.map(({ id, name, tag = null }) => sql`(${id}, ${name}, ${tag})`))}
      on conflict (id) do nothing returning id`,
    // Each server counts transactions by itself, so a row that was moved may have the same version again.
    update(change) {
      const { before, version, after } = change;
      const { name, tag } = contentAfter(change);
      return sql`
        update plants set name = ${name}, tag = ${tag}, deleted = ${after === 'deleted' ? sql`now()` : null}, changed = default
        where id = ${before.id} and deleted is null and changed = ${version} and name = ${before.name}
          and tag is not distinct from ${before.tag ?? null} returning id`;
    },
  },
  log: new PlantStoreError('changes_unavailable', 'there is no feed of changes: the table is distributed by Citus'),
};

/** Asks a database for its dialect. */
export async function dialectOf(tables: Database['sql']): Promise<Dialect> {
  const isThere = async (text: string) => (await tables.executeQuery(CompiledQuery.raw(text))).rows.length > 0;
  const isDistributed =
    (await isThere(`select where to_regclass('pg_catalog.pg_dist_partition') is not null`)) &&
    (await isThere(`select from pg_catalog.pg_dist_partition where logicalrelid = 'plants'::regclass`));
  return isDistributed ? citus : postgres;
}

type Query = (text: string) => Promise<{ readonly rows: readonly unknown[] }>;

/**
 * Finds out what an internal error means: Citus has lost a node, or the server, which was shutting down, is lost itself.
 *
 * @param query on the same connection
 * @returns UnknownOutcomeError `lost_node` or `lost_connection`, or the error as it is
 */
export async function explainInternalError(error: unknown, query: Query): Promise<unknown> {
  if (!failureOf(error).isInternal) return error;
  const { message } = error as Error;
  try {
    const { rows } = await query(`select from pg_extension where extname = 'citus'`);
    return rows.length > 0 ? new UnknownOutcomeError('lost_node', message, { cause: error }) : error;
  } catch (failure) {
    // Otherwise this is a transaction that has failed, as in migrations, which takes no more statements.
    const isLost = failureOf(failure).breaksConnection;
    return isLost ? new UnknownOutcomeError('lost_connection', message, { cause: error }) : error;
  }
}

/** Milliseconds that all nodes together have to respond: less than a probe of /ready waits. */
const NODES_TIMEOUT = 500;

/** Creates a check whether all plants of a distributed table can be read now. It resolves to why not, in words. */
export function nodesCheck({ sql: tables }: Database): (dialect: Dialect) => Promise<string | undefined> {
  // The first plant of every shard. One at a time: while it waits for a node, it takes a connection.
  const ask = singleFlight(() =>
    tables.executeQuery(CompiledQuery.raw('select id from plants order by id limit 1')).then(
      () => undefined,
      (error: Error) => error.message,
    ),
  );
  return async ({ distributed }) => {
    if (distributed === undefined) return undefined;
    const timeout = delay(NODES_TIMEOUT, `no response within ${NODES_TIMEOUT} ms`, { ref: false });
    const problem = await Promise.race([ask(), timeout]);
    return problem && `not every node of Citus responds, and requests for plants of the others get 503: ${problem}`;
  };
}
