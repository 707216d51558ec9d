import { setTimeout as delay } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import type { Database } from './database.ts';
import { sqlState } from './errors.ts';

/** Whether Citus has distributed the table `plants` over several servers. */
export type IsDistributed = () => Promise<boolean>;

/** Asks the database until it has responded once: the answer stays the same while the service runs. */
export function distribution(database: Database): IsDistributed {
  let known: boolean | undefined;
  return async () => {
    known ??= await isDistributed(database);
    return known;
  };
}

async function isDistributed({ sql }: Database): Promise<boolean> {
  const isThere = async (text: string) => (await sql.executeQuery(CompiledQuery.raw(text, []))).rows.length > 0;
  return (
    (await isThere(`select where to_regclass('pg_catalog.pg_dist_partition') is not null`)) &&
    (await isThere(`select from pg_catalog.pg_dist_partition where logicalrelid = 'plants'::regclass`))
  );
}

/** Postgres's own for an internal error; Citus's also for a connection to one of its nodes that broke. */
const INTERNAL_ERROR = 'XX000';

type Query = (text: string) => Promise<{ readonly rows: readonly unknown[] }>;

/** Whether a statement may have failed because Citus has lost a node. @param query on the same connection */
export async function mayBeLostNode(error: unknown, query: Query): Promise<boolean> {
  if (sqlState(error) !== INTERNAL_ERROR) return false;
  return (await query(`select from pg_extension where extname = 'citus'`)).rows.length > 0;
}

/** Milliseconds that all nodes together have to respond: less than a probe of /ready waits. */
const NODES_TIMEOUT = 500;

/** The first plant of every shard. */
const ASK_ALL_NODES = 'select id from plants order by id limit 1';

/**
 * Creates a check whether all plants of a distributed table can be read now. It resolves to why not, in words, or to
 * undefined.
 */
export function nodesCheck({ sql }: Database, isDistributed: IsDistributed): () => Promise<string | undefined> {
  // A statement that waits for a node takes a connection, so there is one at most.
  let asking: Promise<string | undefined> | undefined;

  async function ask(): Promise<string | undefined> {
    try {
      await sql.executeQuery(CompiledQuery.raw(ASK_ALL_NODES));
      return undefined;
    } catch (error) {
      return (error as Error).message;
    } finally {
      asking = undefined;
    }
  }

  return async () => {
    if (!(await isDistributed())) return undefined;
    asking ??= ask();
    const timeout = delay(NODES_TIMEOUT, `no response within ${NODES_TIMEOUT} ms`, { ref: false });
    const problem = await Promise.race([asking, timeout]);
    return problem && `not every node of Citus responds, and requests for plants of the others get 503: ${problem}`;
  };
}
