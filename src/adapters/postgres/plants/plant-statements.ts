import { type Kysely, type RawBuilder, sql } from 'kysely';
import { type Parameters, statement } from '../calls/statement.ts';
import type { Tables } from '../database.ts';
import { isDeleted, LINE_FEED, PLANT_JSON, type PlantRow, SIZE } from './plant-columns.ts';

/** What a statement has found in a range. */
export interface RangeRow {
  /** How many plants it has scanned. */
  readonly found: number;
  /** How many of them are in `lines`: as many as were wanted and have room. */
  readonly count: number;
  /** Their JSON, separated by line feeds; null if there are none. */
  readonly lines: string | null;
  /** The last one's id. */
  readonly last: bigint | null;
  /** The id of the last row that was scanned, a deleted plant or not; null if it was the last one of the range. */
  readonly end: bigint | null;
}

/** Some ranges, each as an element of arrays, in Postgres's notation. */
export interface RangeValues {
  readonly lows: string;
  readonly highs: string;
  /** How many plants are wanted. */
  readonly counts: string;
  /** How many rows are scanned at most, deleted plants included. */
  readonly scans: string;
  /** That of all ranges. */
  readonly tag?: string | undefined;
  /** Octets that the texts of the plants in each range may have together. */
  readonly room: number;
  /** Whether the first one may have more. */
  readonly isAlone: boolean;
}

/** The plants that have some ids; without the texts of those that have more octets than `maxSize`. */
export function selectPlants(tables: Kysely<Tables>) {
  return statement<{ ids: string; maxSize: number }, PlantRow>((parameter) => {
    const unlessLarge = (column: 'name' | 'tag') =>
      sql<string | null>`case when ${SIZE} <= ${parameter('maxSize')} then ${sql.ref(column)} end`.as(column);
    return tables
      .selectFrom('plants')
      .select(['id', unlessLarge('name'), unlessLarge('tag')])
      .select(isDeleted)
      .where('id', '=', sql<bigint>`any(${parameter('ids')}::bigint[])`)
      .compile();
  });
}

/**
 * The first plants of each range, a row for each in the same order. Through unnest: if the planner knew how many are
 * wanted, it would rather sort all plants of a frequent tag, since it misjudges how many have the hash.
 */
export function selectRanges(tables: Kysely<Tables>, isTagged: boolean) {
  return statement<RangeValues, RangeRow>((parameter) => {
    const page = rangePage(parameter, isTagged, sql`low`, sql`high`, sql`most`, sql`cap`);
    return sql<RangeRow>`
      select page.* from unnest(
        ${parameter('lows')}::bigint[], ${parameter('highs')}::bigint[],
        ${parameter('counts')}::int[], ${parameter('scans')}::int[]
      ) with ordinality as wanted (low, high, most, cap, number), lateral ${page} order by number`.compile(tables);
  });
}

/** The first plants of one range, in a form that Citus can send to its servers. */
export function selectDistributedRange(tables: Kysely<Tables>, isTagged: boolean) {
  return statement<RangeValues, RangeRow>((parameter) => {
    const first = (name: keyof RangeValues, type: string) => sql`(${parameter(name)}::${sql.raw(type)}[])[1]`;
    const [low, high] = [first('lows', 'bigint'), first('highs', 'bigint')];
    const [most, cap] = [first('counts', 'int'), first('scans', 'int')];
    return sql<RangeRow>`select page.* from ${rangePage(parameter, isTagged, low, high, most, cap)}`.compile(tables);
  });
}

/** What has room of the first plants between two ids. @param most how many are wanted @param cap of the rows scanned */
function rangePage(
  parameter: Parameters<RangeValues>,
  isTagged: boolean,
  low: RawBuilder<unknown>,
  high: RawBuilder<unknown>,
  most: RawBuilder<unknown>,
  cap: RawBuilder<unknown>,
) {
  const tag = parameter('tag');
  // The index of tags has their hashes only, since a text may be longer than a btree allows (migration 0002).
  const hasTag = isTagged ? sql`and hashtextextended(tag, 0) = hashtextextended(${tag}, 0) and tag = ${tag}` : sql``;
  // With offset 0, `fits` is computed once for each row, and not for each of its uses.
  return sql`(
    select
      count(*) filter (where n > 0)::int as found,
      count(*) filter (where fits)::int as count,
      string_agg(${PLANT_JSON}, ${LINE_FEED} order by id) filter (where fits) as lines,
      max(id) filter (where fits) as last,
      case when count(*) = ${cap} and max(id) < ${high} then max(id) end as "end"
    from (
      select *,
        n <= ${most} and (total <= ${parameter('room')} or (n = 1 and ${parameter('isAlone')}::boolean)) as fits
      from (
        select id, name, tag,
          case when deleted is null then count(*) filter (where deleted is null) over earlier end as n,
          sum(${SIZE}) filter (where deleted is null) over earlier as total
        from (
          select id, name, tag, deleted from plants
          where id between ${low} and ${high} ${hasTag} order by id limit ${cap}
        ) as scanned window earlier as (order by id rows unbounded preceding)
      ) as measured offset 0
    ) as fitting
  ) as page`;
}
