import type { Server } from '../tooling/server-process.ts';
import type { BenchDatabase } from '../tooling/session-database.ts';
import { type LoadResult, runLoad } from './load.ts';

/* Plants so large that only some of them fit into a group, read by many clients at once. */

/** 80 KB of text that does not compress, since Postgres compresses what is large. */
const DIGESTS = 2_500;
const STORED = 1_000;
const CONNECTIONS = 256;

/** Leaves nothing but them in the table. */
export async function addLargePlants({ query }: BenchDatabase): Promise<void> {
  await query('truncate plants');
  await query(
    `insert into plants (id, name)
     select n, (select string_agg(md5(n || ' ' || k), '') from generate_series(1, $2::int) as k)
     from generate_series(1, $1::bigint) as n`,
    [STORED, DIGESTS],
  );
  await query('vacuum analyze plants');
  await query('checkpoint');
}

export function readLargePlants({ url }: Server, seconds: number, signal: AbortSignal): Promise<LoadResult> {
  return runLoad(url, { request: 'plant', plants: STORED, connections: CONNECTIONS, seconds, signal });
}
