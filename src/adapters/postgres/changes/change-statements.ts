import { type Kysely, type RawBuilder, sql } from 'kysely';
import { statement } from '../calls/statement.ts';
import type { Tables } from '../database.ts';
import { PLANT_JSON, SIZE } from '../plants/plant-columns.ts';
import type { FeedState } from './change-cursor.ts';
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
export interface StateRow extends CheckedRow {
  readonly epoch: string;
  /** Whether the timeline has no identity of its own yet, and the role may give it one. */
  readonly is_unnamed: boolean;
}

/** The state of the feed, and the last row of a part of it; null if the part is empty. */
interface EndRow extends FeedState, StateRow {
  readonly last_changed: bigint | null;
  readonly last_id: bigint | null;
}

/** A part of the feed. */
export interface ChangesRow extends EndRow {
  /** JSON of its rows, separated by commas; null if it is empty. */
  readonly changes: string | null;
  /** Whether nothing that is settled lies beyond. */
  readonly at_end: boolean;
}

const CHANGE_JSON = sql`case when deleted is null then ${PLANT_JSON} else '{"id":' || id || ',"deleted":true}' end`;

/** The state of the feed, as a subquery with one row. */
export const FEED_STATE = sql`(
  select epoch, purged_changed, purged_id, next, settled, is_intact,
    not recorded ? epoch and ${MAY_NAME} as is_unnamed
  from (
    select ${EPOCH} as epoch, purged_changed, purged_id, ${NEXT} as next, ${SETTLED} as settled,
      ${IS_INTACT} as is_intact, recorded
    from change_feed where single = 1
  ) as state
) as feed`;

/** The last row before a transaction: one probe of the index. */
export const lastBefore = (end: RawBuilder<unknown>) =>
  sql`select changed, id from plants where changed < ${end} order by changed desc, id desc limit 1`;

/**
 * The first rows that the condition admits and that are settled, as many as have room, in octets of their texts, which the
 * first row with a text may exceed.
 */
export const firstRows = (condition: RawBuilder<unknown>, count: RawBuilder<unknown>, room: RawBuilder<unknown>) => sql`
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
  /** Octets that the texts of the rows may have together; the first row is there in any case. */
  readonly room: number;
}

/** The first rows after a position and up to another one. */
export function selectChanges(tables: Kysely<Tables>) {
  return statement<ChangesValues, ChangesRow>((parameter) => {
    const position = (changed: keyof ChangesValues, id: keyof ChangesValues): RawBuilder<unknown> =>
      sql`(${parameter(changed)}::bigint, ${parameter(id)}::bigint)`;
    const between = sql`(changed, id) > ${position('afterChanged', 'afterId')}
      and (changed, id) <= ${position('untilChanged', 'untilId')}`;
    return sql<ChangesRow>`
      select feed.*, page.*,
        coalesce((last.changed, last.id) <= (coalesce(last_changed, ${parameter('afterChanged')}::bigint),
          coalesce(last_id, ${parameter('afterId')}::bigint)), true) as at_end
      from ${FEED_STATE} left join lateral (${lastBefore(sql`settled`)}) as last on true, lateral (
        select string_agg(${CHANGE_JSON}, ',' order by changed, id) as changes, max(changed) as last_changed,
          (array_agg(id order by changed, id))[count(*)] as last_id
        from (${firstRows(between, parameter('count'), parameter('room'))}) as plant
      ) as page`.compile(tables);
  });
}

/** The last row of the feed. */
export function selectEnd(tables: Kysely<Tables>) {
  return statement<object, EndRow>(() =>
    sql<EndRow>`
      select feed.*, last.changed as last_changed, last.id as last_id
      from ${FEED_STATE} left join lateral (${lastBefore(sql`settled`)}) as last on true`.compile(tables),
  );
}

/** The transaction that holds back the feed, as long as there are later ones. */
export const selectOldest = sql<{ readonly oldest: string; readonly is_behind: boolean }>`
  select pg_snapshot_xmin(now)::text as oldest, pg_snapshot_xmin(now) < pg_snapshot_xmax(now) as is_behind
  from pg_current_snapshot() as now`;

/** Whether the feed can be read. */
export const selectState = sql<CheckedRow>`select ${IS_INTACT} as is_intact from change_feed where single = 1`;
