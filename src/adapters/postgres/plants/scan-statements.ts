import { type RawBuilder, sql } from 'kysely';
import type { Order, PlantRange } from '../../../application/ports.ts';
import type { Database } from '../database.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, TAG, taggedBetween } from './columns.ts';

/** A row that was looked at. One that is not wanted has no name. */
export interface ScannedRow {
  /** Of its range among those of the statement, from 1; not there if it has only one. */
  readonly number?: number;
  readonly id: bigint;
  readonly name: string | null;
  readonly tag: string | null;
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

type ScanValues = Record<'low' | 'high' | 'most' | 'tag' | 'name', unknown>;

/**
 * Creates the statement that looks at the first rows of ranges, in the order of their ids.
 *
 * Where statistics are missing, or a tag is more frequent than the planner thinks, it would sort all rows if it knew how many
 * are wanted, so that number comes from a table or a subquery; Citus cannot run either.
 *
 * @returns a function from ranges to the statement
 */
export function selectRows(tables: Database['sql'], kind: ScanKind) {
  const { order, isTagged, isSearch, isShared, isOnCitus } = kind;
  const byId = order === 'asc' ? sql`order by id` : sql`order by id desc`;
  const byTag = order === 'asc' ? sql`order by ${TAG}, id` : sql`order by ${TAG} desc, id desc`;
  const columns = ['low', 'high', 'most', 'tag', 'name'] as const;
  const types = { low: 'bigint', high: 'bigint', most: 'int', tag: 'text', name: 'text' };

  const select = statement<ScanValues, ScannedRow>((parameter) => {
    const wanted = (column: (typeof columns)[number]) =>
      isShared ? sql.ref(`wanted.${column}`) : sql`${parameter(column)}::${sql.raw(types[column])}`;
    const most = isShared || isOnCitus ? wanted('most') : sql`(select ${wanted('most')})`;
    const isFound = isSearch ? sql`and strpos(${folded(sql`plants.name`)}, ${folded(wanted('name'))}) > 0` : sql``;
    const [low, high] = [wanted('low'), wanted('high')];
    const scanned = sql`
      select id, case when deleted is null ${isFound} then plants.name end as name, plants.tag
        ${isSearch ? sql`, null::int as looked_at` : sql``}
      from plants where ${FAIL_ON_STANDBY}
        and ${isTagged ? taggedBetween(wanted('tag'), low, high) : sql`id between ${low} and ${high}`}
      ${isTagged ? byTag : byId} limit ${most}`;
    const last = order === 'asc' ? sql`max(id)` : sql`min(id)`;
    const page = !isSearch
      ? scanned
      : sql`with scanned as materialized (${scanned})
        select * from scanned where name is not null
        union all select ${last}, null, null, count(*)::int from scanned having count(*) > 0`;
    if (!isShared) {
      const atEnd = isSearch ? sql`, looked_at nulls first` : sql``;
      return sql<ScannedRow>`select * from (${page}) as page ${byId}${atEnd}`.compile(tables);
    }
    const lists = sql.join(columns.map((column) => sql`${parameter(column)}::${sql.raw(types[column])}[]`));
    return sql<ScannedRow>`select number::int, page.*
      from unnest(${lists}) with ordinality as wanted (low, high, most, tag, name, number), lateral (${page}) as page
      order by number, ${order === 'asc' ? sql`id` : sql`id desc`}`.compile(tables);
  });

  return (scans: readonly RangeScan[]) => {
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
    });
  };
}

/** Of locales that give a sigma another form at the end of a word, a text would not be found in a longer word. */
function folded(text: RawBuilder<unknown>) {
  return sql`replace(lower(${text}), 'ς', 'σ')`;
}
