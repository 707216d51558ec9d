import { type RawBuilder, sql } from 'kysely';
import type { PlantRange } from '../../../application/ports.ts';
import type { Dialect, Session } from '../dialect.ts';
import type { PlantRow } from '../plant-rows.ts';
import { partStatement, statement } from '../statement.ts';

/** A range with the numbers of rows that are returned and scanned, at most. */
export type ScanValues = Readonly<Record<'low' | 'high', bigint> & Record<'count' | 'most', number>> &
  Readonly<Record<'tag' | 'name', string>>;

/** The values that a page needs, in the order in which `pages` sends them. */
const PAGE: readonly (keyof ScanValues)[] = ['low', 'high', 'count', 'tag'];

type Part = RawBuilder<unknown>;
type Wanted = (name: keyof ScanValues) => Part;

/** A plant that is found; without a name, the last row that was scanned, if there are as many. */
type FoundRow = Pick<PlantRow, 'id' | 'tag'> & { readonly name: string | null };

/** How many rows were scanned, how many of them are wanted, and the last one. */
interface CountRow {
  readonly count: bigint;
  readonly scanned: bigint;
  readonly last: bigint | null;
}

/** The statements that read ranges in one order, with a tag or without one, and with a text in the names or without one. */
export function scanStatements({ order, tag, name }: PlantRange) {
  const isDescending = order === 'desc';
  const kind = `${isDescending ? 'desc' : 'asc'}_${tag === undefined ? 'all' : 'tagged'}`;
  const byId = isDescending ? sql`id desc` : sql`id`;

  /** The rows of the range, in its order. */
  function inRange({ hasTag, tagKey, isCurrent }: Dialect, wanted: Wanted, low: Part, high: Part) {
    const byTag = isDescending ? sql`${tagKey} desc, ${byId}` : sql`${tagKey}, ${byId}`;
    const where = sql`where ${isCurrent}
      and ${tag === undefined ? sql`id between ${low} and ${high}` : hasTag(wanted('tag'), low, high)}`;
    return { where, inOrder: sql`order by ${tag === undefined ? byId : byTag}` };
  }

  const isWanted = ({ contains }: Dialect, wanted: Wanted) =>
    name === undefined ? sql`deleted is null` : sql`deleted is null and ${contains(sql`name`, wanted('name'))}`;

  function page(dialect: Dialect, wanted: Wanted, count: Part) {
    const { where, inOrder } = inRange(dialect, wanted, wanted('low'), wanted('high'));
    return sql<PlantRow>`select id, name, tag, deleted from plants ${where} ${inOrder} limit ${count}`;
  }

  const selectPages = statement<
    { list: readonly (bigint | number | string)[][] },
    PlantRow & { readonly number: bigint }
  >((parameter, dialect) => {
    const wanted = (name: keyof ScanValues) =>
      sql`cast(item.value ->> ${sql.lit(PAGE.indexOf(name))} as ${sql.raw(name === 'tag' ? 'text' : 'bigint')})`;
    const each = dialect.forEach?.(parameter('list'), page(dialect, wanted, wanted('count')));
    return sql`select number, page.* from ${each} order by number, ${byId}`;
  }, `pages_${kind}`);

  return {
    /** The first rows, deleted ones as well. */
    page: partStatement<ScanValues, PlantRow>(
      (wanted, dialect) => page(dialect, wanted, dialect.hideLimit(wanted('count'))),
      { name: `page_${kind}`, mayBeCut: true },
    ),
    /** The same of several ranges. */
    pages: (session: Session, pages: readonly ScanValues[]) =>
      selectPages(session, { list: pages.map((values) => PAGE.map((name) => values[name])) }),
    /** The first rows that are wanted, among so many. In one snapshot: a purge in between would move the last of them. */
    search: partStatement<ScanValues, FoundRow>((wanted, dialect) => {
      const [low, high] = [wanted('low'), wanted('high')];
      const all = inRange(dialect, wanted, low, high);
      const last = sql`coalesce((select id from last), ${isDescending ? low : high})`;
      const scanned = isDescending ? inRange(dialect, wanted, last, high) : inRange(dialect, wanted, low, last);
      return sql<FoundRow>`
        with last as materialized (
          select id from plants ${all.where} ${all.inOrder} limit 1 offset ${dialect.hideLimit(wanted('most'))} - 1
        )
        select * from (
          select id, name, tag from plants ${scanned.where} and ${isWanted(dialect, wanted)}
          ${scanned.inOrder} limit ${dialect.hideLimit(wanted('count'))}
        ) as found union all select id, null, null from last order by ${byId}`;
    }),
    count: statement<ScanValues, CountRow>((wanted, dialect) => {
      const { where, inOrder } = inRange(dialect, wanted, wanted('low'), wanted('high'));
      // Deleted plants have no tag, so that the index on tags has all that is to be known.
      const isInIndex = tag !== undefined && name === undefined;
      return sql<CountRow>`
        select count(*) ${isInIndex ? sql`` : sql`filter (where ${isWanted(dialect, wanted)})`} as count,
          count(*) as scanned, max(id) as last
        from (
          select id ${isInIndex ? sql`` : sql`, name, deleted`} from plants ${where} ${inOrder}
          limit ${dialect.hideLimit(wanted('most'))}
        ) as scanned`;
    }),
  };
}
