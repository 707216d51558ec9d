import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { FeedState } from '../../feed/change-cursor.ts';
import type { Tables } from '../database.ts';
import { SIZE } from '../plants/columns.ts';
import { statement } from '../statement.ts';
import { EPOCH, IS_INTACT, MAY_NAME, NEXT, SETTLED } from './change-epoch.ts';

/*
 * The statements that read the feed of changes. `where single = 1` tells the planner that change_feed has one row: it
 * would expect a thousand, and take the trouble of JIT compilation.
 */

/** What shows whether the feed can be read. */
export interface CheckedRow {
  readonly is_intact: boolean;
}

/** What every statement over the state of the feed returns. */
interface StateRow extends CheckedRow {
  readonly epoch: string;
  /** Whether the timeline has no identity of its own yet, and the role may give it one. */
  readonly is_unnamed: boolean;
}

/** The state of the feed, and its last row that is settled; null if it has none. */
export interface EndRow extends FeedState, StateRow {
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
}

/** The same, and beside it a row of a part of the feed; null if the part is empty. */
export interface ChangeRow extends EndRow {
  readonly changed: bigint | null;
  readonly id: bigint | null;
  readonly name: string;
  readonly tag: string | null;
  readonly is_deleted: boolean;
}

/** The state of the feed, as a subquery with one row. With `offset 0` it is computed once, and not for each row beside it. */
const FEED_STATE = sql`(
  select epoch, purged_changed, purged_id, next, settled, is_intact,
    not recorded ? epoch and ${MAY_NAME} as is_unnamed
  from (
    select ${EPOCH} as epoch, purged_changed, purged_id, ${NEXT} as next, ${SETTLED} as settled,
      ${IS_INTACT} as is_intact, recorded
    from change_feed where single = 1
  ) as state offset 0
) as feed`;

/** The last row before a transaction: one probe of the index. */
export const lastBefore = (end: RawBuilder<unknown>) =>
  sql`select changed, id from plants where changed < ${end} order by changed desc, id desc limit 1`;

/** The state of the feed and its end. */
const FEED_END = sql`${FEED_STATE} left join lateral (
  select changed as end_changed, id as end_id from (${lastBefore(sql`settled`)}) as last
) as last on true`;

/**
 * The first rows that the condition admits and that are settled, as many as have room, in bytes of their texts, which the
 * first row with a text may exceed.
 */
const firstRows = (condition: RawBuilder<unknown>, count: RawBuilder<unknown>, room: RawBuilder<unknown>) => sql`
  select * from (
    select *, sum(size) over (order by changed, id rows unbounded preceding) as total from (
      select *, ${SIZE} as size from plants where ${condition} and changed < settled order by changed, id limit ${count}
    ) as plant
  ) as plant where total <= ${room} or total = size`;

interface ChangesValues {
  readonly afterChanged: bigint;
  readonly afterId: bigint;
  readonly untilChanged: bigint;
  readonly untilId: bigint;
  readonly count: number;
  /** Bytes that the texts of the rows may have together; the first row is there in any case. */
  readonly room: number;
}

/** The first rows after a position and up to another one, in the order of the feed. */
export function selectChanges(tables: Kysely<Tables>) {
  return statement<ChangesValues, ChangeRow>((parameter) => {
    const position = (changed: keyof ChangesValues, id: keyof ChangesValues): RawBuilder<unknown> =>
      sql`(${parameter(changed)}::bigint, ${parameter(id)}::bigint)`;
    const between = sql`(changed, id) > ${position('afterChanged', 'afterId')}
      and (changed, id) <= ${position('untilChanged', 'untilId')}`;
    return sql<ChangeRow>`
      select feed.*, end_changed, end_id, changed, id, name, tag, deleted is not null as is_deleted
      from ${FEED_END} left join lateral (
        ${firstRows(between, parameter('count'), parameter('room'))}
      ) as page on true order by changed, id`.compile(tables);
  });
}

/** The last row of the feed. */
export function selectEnd(tables: Kysely<Tables>) {
  return statement<object, EndRow>(() =>
    sql<EndRow>`select feed.*, end_changed, end_id from ${FEED_END}`.compile(tables),
  );
}

/** The transaction that holds back the feed, as long as there are later ones. */
export const selectOldest = sql<{ readonly oldest: string; readonly is_lagging: boolean }>`
  select pg_snapshot_xmin(now)::text as oldest, pg_snapshot_xmin(now) < pg_snapshot_xmax(now) as is_lagging
  from pg_current_snapshot() as now`;

/** Whether the feed can be read. */
export const selectState = sql<CheckedRow>`select ${IS_INTACT} as is_intact from change_feed where single = 1`;
