import { sql } from 'kysely';
import { positionOf, START } from '../../../application/changes/cursor.ts';
import type { LogEnd, LogReader } from '../../../application/changes/ports.ts';
import type { Position } from '../../../application/ports.ts';
import type { Entry } from '../../../application/webhooks/ports.ts';
import { storedIn } from '../../sql/plant-rows.ts';
import type { Database } from '../database.ts';
import { statement } from '../statement.ts';
import { FEED_STATE, lastBefore, rowsWithState, SETTLED, type StateRow } from './feed-state.ts';

/** The state of the feed, and its last row that is settled; null if it has none. */
interface EndRow extends StateRow {
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
}

/** The same, and beside it a row of a part of the feed; null if the part is empty. */
interface ChangeRow extends EndRow {
  readonly changed: bigint | null;
  readonly id: bigint | null;
  readonly name: string;
  readonly tag: string | null;
  readonly deleted: unknown;
}

interface ChangesValues extends Position {
  readonly count: number;
}

const FEED_END = sql`${FEED_STATE} left join lateral (
  select changed as end_changed, id as end_id from (${lastBefore(sql`settled`)}) as last
) as last on true`;

/** Reads the feed, for its consumers and for webhooks. Its functions reject as requireChangeFeed does. */
export function feedReader(database: Database): LogReader {
  /** The first rows after a position, in the order of the feed: those that are settled. */
  const changesAfter = statement<ChangesValues, ChangeRow>((parameter) => {
    const rows = sql`
      select * from plants
      where (changed, id) > (${parameter('changed')}::bigint, ${parameter('id')}::bigint) and changed < settled
      order by changed, id limit ${parameter('count')}`;
    return sql<ChangeRow>`
      select feed.*, end_changed, end_id, changed, id, name, tag, deleted
      from ${FEED_END} left join lateral (${rows}) as page on true order by changed, id`.compile(database.sql);
  });

  const selectEnd = sql<EndRow>`select feed.*, end_changed, end_id from ${FEED_END}`.compile(database.sql);

  const part: LogReader['part'] = async ({ changed, id }, count) => {
    const rows = await rowsWithState(database, changesAfter({ changed, id, count }));
    return { end: endIn(rows[0]), rows: rows.flatMap(entryIn) };
  };

  return {
    part,
    end: async () => endIn((await rowsWithState(database, selectEnd))[0]),
    async holder() {
      if (await database.isDistributed()) return undefined;
      return (await selectHolder.execute(database.sql)).rows[0];
    },
  };
}

function endIn(row: EndRow): LogEnd {
  return { ...row, position: positionOf(row.end_changed, row.end_id) ?? START };
}

/** A row without a position stands beside the state of the feed if the part is empty. */
function entryIn({ changed, id, ...row }: ChangeRow): Entry[] {
  return changed === null || id === null ? [] : [{ changed, id, stored: storedIn({ ...row, id }) }];
}

const selectHolder = sql<{ readonly settled: bigint; readonly age: number | null }>`
  select settled, extract(epoch from clock_timestamp() - coalesce(xact_start, prepared))::float8 as age
  from (
    select pg_snapshot_xmin(now)::xid as oldest, ${SETTLED} as settled
    from change_feed, pg_current_snapshot() as now where single = 1 and pg_snapshot_xmin(now) < pg_snapshot_xmax(now)
  ) as held left join pg_stat_activity on backend_xid = oldest left join pg_prepared_xacts on transaction = oldest`;
