import { CompiledQuery } from 'kysely';
import type { Database } from './database.ts';

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
