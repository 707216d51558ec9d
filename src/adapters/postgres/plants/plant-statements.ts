import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Order, PlantRange } from '../../../application/ports.ts';
import { statement } from '../calls/statement.ts';
import type { Tables } from '../database.ts';
import { FAIL_ON_STANDBY, isDeleted, PLANT_JSON, type PlantRow, SIZE } from './plant-columns.ts';

/** Separates rows of JSON, within which line feeds are escaped. */
const LINE_FEED = sql.lit('\n');

/** The first plants of a range. */
export interface RangeRow {
  readonly count: number;
  /** Their JSON, separated by line feeds; null if there are none. */
  readonly lines: string | null;
  /** The next scan begins behind this: the last plant, or else the last row that is not wanted; null without rows. */
  readonly last: bigint | null;
  /** Whether the range has no more after these. */
  readonly is_last: boolean;
}

/** The first plants of one of several ranges. */
export interface PageRow extends RangeRow {
  /** Whether none of them is too large, so that `lines` has all of them. */
  readonly is_whole: boolean;
}

/** Some ranges, each as an element of arrays, in Postgres's notation. */
interface PagesValues {
  readonly lows: string;
  readonly highs: string;
  /** How many plants are wanted. */
  readonly counts: string;
  /** The tag of each range; any texts for ranges of all plants. */
  readonly tags: string;
  /** Octets that the texts of a plant may have. */
  readonly maxSize: number;
}

interface RangeValues extends PlantRange {
  /** How many plants are wanted. */
  readonly count: number;
  /** How many rows are scanned at most, deleted plants included. */
  readonly scanned: number;
  /** Octets that the texts of these rows may have together; of more, only the first ones count, and one at least. */
  readonly room: number;
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
      .where(FAIL_ON_STANDBY)
      .compile();
  });
}

/** Deleted plants that a statement passes over at most, to find those that it is asked for. */
export const MORE_SCANNED = 5_000;

/**
 * The rows that a range scans, and which of them are wanted. The index of tags has their hashes only, since a text may
 * be longer than a btree allows (migration 0002). The tag itself is not compared within the scan: the planner would
 * multiply the selectivities of both comparisons, expect few rows, and sort all plants of a frequent tag. So a plant
 * with another tag of the same hash is passed over like a deleted one, and so is one without the text in its name, for
 * which there is no index.
 */
function filterOf(tag: RawBuilder<unknown> | undefined, name?: RawBuilder<unknown>) {
  const isNamed = name === undefined ? sql`` : sql`and strpos(lower(name), lower(${name})) > 0`;
  if (tag === undefined) return { isScanned: sql``, isWanted: sql`(deleted is null ${isNamed})` };
  return {
    isScanned: sql`and hashtextextended(tag, 0) = hashtextextended(${tag}, 0)`,
    isWanted: sql`(deleted is null and tag = ${tag} ${isNamed})`,
  };
}

/** An order of ids in SQL: the clause, the aggregate of the last one, and what comes before it. */
function orderOf(order: Order) {
  return order === 'asc'
    ? { byId: sql`order by id`, last: sql`max(id)`, beforeFirst: (ids: RawBuilder<unknown>) => sql`min(id) ${ids} - 1` }
    : {
        byId: sql`order by id desc`,
        last: sql`min(id)`,
        beforeFirst: (ids: RawBuilder<unknown>) => sql`max(id) ${ids} + 1`,
      };
}

/**
 * The first plants of each range, a row for each in the same order. Without the running total of their texts that
 * `selectRange` has, it takes much less CPU time.
 */
export function selectPages(tables: Kysely<Tables>, order: Order, isTagged: boolean) {
  return statement<PagesValues, PageRow>((parameter) => {
    const { byId, last, beforeFirst } = orderOf(order);
    const isBehind = order === 'asc' ? sql`coalesce(last, low) and high` : sql`low and coalesce(last, high)`;
    const { isScanned, isWanted } = filterOf(isTagged ? sql`wanted_tag` : undefined);
    const scanned = sql`most + ${sql.lit(MORE_SCANNED)}`;
    return sql<PageRow>`
      select count, lines, coalesce(last, last_scanned) as last, count = whole as is_whole, is_last
      from unnest(
        ${parameter('lows')}::bigint[], ${parameter('highs')}::bigint[],
        ${parameter('counts')}::int[], ${parameter('tags')}::text[]
      ) with ordinality as wanted (low, high, most, wanted_tag, number), lateral (
        select count(*)::int as count, count(line)::int as whole, ${last} as last,
          string_agg(line, ${LINE_FEED} ${byId}) as lines,
          case when count(*) < most then ${scanned} else 1 end as ahead
        from (
          select id, case when ${SIZE} <= ${parameter('maxSize')} then ${PLANT_JSON} end as line
          from (
            select id, name, tag, deleted from plants
            where id between low and high and ${FAIL_ON_STANDBY} ${isScanned}
            ${byId} limit ${scanned}
          ) as scanned where ${isWanted} ${byId} limit most
        ) as plant
      ) as page, lateral (
        select count(*) < ahead and bool_and(not is_wanted) is not false as is_last,
          coalesce(${beforeFirst(sql`filter (where is_wanted)`)}, ${last}) as last_scanned
        from (
          select id, ${isWanted} as is_wanted from plants
          where id between ${isBehind} and id is distinct from last ${isScanned}
          ${byId} limit ahead
        ) as following
      ) as behind order by number`.compile(tables);
  });
}

interface RangeOptions {
  readonly order: Order;
  readonly isTagged: boolean;
  readonly isSearch: boolean;
  /**
   * Whether the planner must not know the limit: where it misjudges how frequent a tag is, or how many plants there are,
   * as without statistics, it would sort all of them. Citus cannot run that form.
   */
  readonly isLimitHidden: boolean;
}

/** The first plants of one range, as many as have room. */
export function selectRange(tables: Kysely<Tables>, { order, isTagged, isSearch, isLimitHidden }: RangeOptions) {
  return statement<RangeValues, RangeRow>((parameter) => {
    const { byId, last } = orderOf(order);
    const tag = isTagged ? parameter('tag') : undefined;
    const { isScanned, isWanted } = filterOf(tag, isSearch ? parameter('name') : undefined);
    const cap = sql`${parameter('scanned')}::int`;
    const earlier = sql`earlier as (${byId} rows unbounded preceding)`;
    // With offset 0, `is_wanted` is computed once for each row, and not for each of its uses; with `order by`, which costs
    // nothing, the rows are not sorted again. Rows without room are not compared: `lower` takes 10 ms for a megabyte.
    const page = (limit: RawBuilder<unknown>) => sql`
      select count(*) filter (where fits and is_wanted)::int as count,
        string_agg(${PLANT_JSON}, ${LINE_FEED} ${byId}) filter (where fits and is_wanted) as lines,
        ${last} filter (where fits) as last, count(*) < ${cap} and count(*) = count(*) filter (where fits) as is_last
      from (
        select *, has_room and count(*) filter (where is_wanted) over earlier <= ${parameter('count')} as fits
        from (
          select *, case when has_room then ${isWanted} end as is_wanted
          from (
            select *, sum(${SIZE}) over earlier <= ${parameter('room')} or row_number() over earlier = 1 as has_room
            from (
              select id, name, tag, deleted from plants
              where id between ${parameter('from')} and ${parameter('to')} and ${FAIL_ON_STANDBY} ${isScanned}
              ${byId} limit ${limit}
            ) as scanned window ${earlier}
          ) as measured ${byId} offset 0
        ) as looked_at window ${earlier}
      ) as fitting`;
    const hidden = sql`select page.* from unnest(array[${cap}]) as wanted (cap), lateral (${page(sql`cap`)}) as page`;
    return sql<RangeRow>`${isLimitHidden ? hidden : page(cap)}`.compile(tables);
  });
}
