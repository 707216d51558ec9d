import { sql } from 'kysely';
import { LONG_SECONDS_MIN } from '../../application/changes/held-back.ts';
import type { LogReader } from '../../application/changes/ports.ts';
import { log } from './change-log.ts';
import type { Database } from './connections/pool.ts';
import { sessionOn } from './schema/schema-gate.ts';

const selectHolder = sql<{ readonly settled: bigint; readonly age: number | null }>`
  select settled, extract(epoch from clock_timestamp() - coalesce(xact_start, prepared))::float8 as age
  from (
    select pg_snapshot_xmin(now)::xid as oldest, ${log.settled} as settled
    from change_feed, pg_current_snapshot() as now where single = 1 and pg_snapshot_xmin(now) < pg_snapshot_xmax(now)
  ) as holder left join pg_stat_activity on backend_xid = oldest left join pg_prepared_xacts on transaction = oldest`;

/** Implements `holder` of LogReader. Its callers, readiness and metrics, wait for no request. */
export const holderIn =
  (database: Database): LogReader['holder'] =>
  async () => {
    const { sql, dialect } = await sessionOn(database);
    return dialect.log && (await selectHolder.execute(sql)).rows[0];
  };

/** The message for operators about a feed that a transaction has held back for this many seconds; undefined for none. */
export function heldBackProblem(seconds: number): string | undefined {
  return seconds > LONG_SECONDS_MIN
    ? `an open transaction has delayed the feed of changes for ${Math.floor(seconds)} s: ` +
        'pg_stat_activity and pg_prepared_xacts show it'
    : undefined;
}
