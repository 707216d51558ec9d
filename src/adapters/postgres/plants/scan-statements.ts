import { type RawBuilder, sql } from 'kysely';
import type { Order, PlantRange } from '../../../application/ports.ts';
import type { Database } from '../database.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, SIZE } from './columns.ts';

/** A row that was looked at. One that is not wanted has neither a name nor a size. */
export interface ScannedRow {
  /** Of its range among those of the statement, from 1; not there if it has only one. */
  readonly number?: number;
  readonly id: bigint;
  readonly name: string | null;
  readonly tag: string | null;
  /** The bytes of its texts, in place of them, if they are more than the statement allows. */
  readonly size: number | null;
  /** How many rows a search has looked at, on its last one; a search leaves out the others that are not wanted. */
  readonly looked_at?: number | null;
}

/** A range, of which so many rows are looked at. */
export interface RangeScan extends PlantRange {
  readonly count: number;
}

/** Which statement reads ranges. */
export interface ScanKind {
  readonly order: Order;
  readonly isTagged: boolean;
  readonly isSearch: boolean;
  /** Whether the statement has any number of ranges, or one, whose rows come without being sorted first. */
  readonly isShared: boolean;
  readonly isOnCitus: boolean;
}

type ScanValues = Record<'low' | 'high' | 'most' | 'tag' | 'name', unknown> & { readonly maxSize: number };

/**
 * Creates the statement that looks at the first rows of ranges, in the order of their ids.
 *
 * Where statistics are missing, or a tag is more frequent than the planner thinks, it would sort all rows if it knew how many
 * are wanted, so that number comes from a table or a subquery; Citus cannot run either. The condition compares only the hash
 * of a tag (docs/decisions.md), so a plant with another tag of the same hash is passed over like a deleted one.
 *
 * @returns a function from ranges, and the bytes that a plant may have to be read, to the statement
 */
export function selectRows(tables: Database['sql'], kind: ScanKind) {
  const { order, isTagged, isSearch, isShared, isOnCitus } = kind;
  const byId = order === 'asc' ? sql`order by id` : sql`order by id desc`;
  const columns = ['low', 'high', 'most', 'tag', 'name'] as const;
  const types = { low: 'bigint', high: 'bigint', most: 'int', tag: 'text', name: 'text' };

  const select = statement<ScanValues, ScannedRow>((parameter) => {
    const wanted = (column: (typeof columns)[number]) =>
      isShared ? sql.ref(`wanted.${column}`) : sql`${parameter(column)}::${sql.raw(types[column])}`;
    const most = isShared || isOnCitus ? wanted('most') : sql`(select ${wanted('most')})`;
    const isThere = isTagged ? sql`deleted is null and plants.tag = ${wanted('tag')}` : sql`deleted is null`;
    const isSmall = sql`${SIZE.ofRow} <= ${parameter('maxSize')}`;
    // Of what is small only: `lower` takes 10 ms for a megabyte.
    const isFound = isSearch ? sql`and strpos(${folded(sql`plants.name`)}, ${folded(wanted('name'))}) > 0` : sql``;
    const isRead = sql`${isThere} and ${isSmall} ${isFound}`;
    const scanned = sql`
      select id, case when ${isRead} then plants.name end as name, case when ${isRead} then plants.tag end as tag,
        case when ${isThere} and not ${isSmall} then ${SIZE.ofRow} end as size ${isSearch ? sql`, null::int as looked_at` : sql``}
      from plants where id between ${wanted('low')} and ${wanted('high')} and ${FAIL_ON_STANDBY}
        ${isTagged ? sql`and hashtextextended(plants.tag, 0) = hashtextextended(${wanted('tag')}, 0)` : sql``}
      ${byId} limit ${most}`;
    const last = order === 'asc' ? sql`max(id)` : sql`min(id)`;
    const page = !isSearch
      ? scanned
      : sql`with scanned as materialized (${scanned})
        select * from scanned where name is not null or size is not null
        union all select ${last}, null, null, null, count(*)::int from scanned having count(*) > 0`;
    if (!isShared) {
      const atEnd = isSearch ? sql`, looked_at nulls first` : sql``;
      return sql<ScannedRow>`select * from (${page}) as page ${byId}${atEnd}`.compile(tables);
    }
    const lists = sql.join(columns.map((column) => sql`${parameter(column)}::${sql.raw(types[column])}[]`));
    return sql<ScannedRow>`select number::int, page.*
      from unnest(${lists}) with ordinality as wanted (low, high, most, tag, name, number), lateral (${page}) as page
      order by number, ${order === 'asc' ? sql`id` : sql`id desc`}`.compile(tables);
  });

  return (scans: readonly RangeScan[], maxSize: number) => {
    const list = (of: (scan: RangeScan) => bigint | number | string) => {
      const values = scans.map(of);
      return isShared ? values : values[0];
    };
    return select({
      low: list(({ from }) => from),
      high: list(({ to }) => to),
      most: list(({ count }) => count),
      tag: list(({ tag = '' }) => tag),
      name: list(({ name = '' }) => name),
      maxSize,
    });
  };
}

/** Of locales that give a sigma another form at the end of a word, a text would not be found in a longer word. */
function folded(text: RawBuilder<unknown>) {
  return sql`replace(lower(${text}), 'ς', 'σ')`;
}
