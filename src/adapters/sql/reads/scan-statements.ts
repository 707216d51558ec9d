import { type RawBuilder, sql } from 'kysely';
import type { PlantRange } from '../../../application/ports.ts';
import type { Dialect, Session } from '../dialect.ts';
import type { PlantRow } from '../plant-rows.ts';
import { type PartResult, partStatement, statement } from '../statement.ts';

/** A range, and the most rows that are read, or scanned. */
export interface ScanValues {
  readonly low: bigint;
  readonly high: bigint;
  readonly tag: string;
  readonly name: string;
  readonly count: number;
}

/** The expression of a value. */
type ValueOf = (name: keyof ScanValues) => RawBuilder<unknown>;

/** How many rows were scanned, how many of them are wanted, and the last one. */
interface CountRow {
  readonly count: bigint;
  readonly scanned: bigint;
  readonly last: bigint | null;
}

type NumberedRow = PlantRow & { readonly number: bigint };

type Read<Result> = (session: Session, values: ScanValues) => Promise<Result>;

/** The statements that read ranges in one order, with a tag or without one, and with a text in the names or without one. */
export interface ScanStatements {
  /** Reads the first rows, deleted ones as well. */
  readonly page: Read<PartResult<PlantRow>>;
  /** Does the same for several ranges, whose rows it numbers from 1. */
  pages(session: Session, pages: readonly ScanValues[]): Promise<readonly NumberedRow[]>;
  /** Finds the last row that a search scans, if there are as many. */
  readonly end: Read<readonly Pick<PlantRow, 'id'>[]>;
  /** Reads the first rows that are wanted. */
  readonly search: Read<PartResult<Omit<PlantRow, 'deleted'>>>;
  readonly count: Read<readonly CountRow[]>;
}

export function scanStatements({ order, tag, name }: PlantRange): ScanStatements {
  const direction = order === 'desc' ? sql`desc` : sql`asc`;
  const kind = `${order ?? 'asc'}_${tag === undefined ? 'all' : 'tagged'}`;

  /** The rows of the range, of which some may have to meet a condition, in the order of the index that has them. */
  function rows({ hasTag, tagKey, isCurrent }: Dialect, value: ValueOf, condition = sql`true`) {
    const [low, high] = [value('low'), value('high')];
    const isInRange = tag === undefined ? sql`id between ${low} and ${high}` : hasTag(value('tag'), low, high);
    const byTag = tag === undefined ? sql`` : sql`${tagKey} ${direction},`;
    return sql`from plants where ${isCurrent} and ${isInRange} and ${condition} order by ${byTag} id ${direction}`;
  }

  const isWanted = ({ contains }: Dialect, value: ValueOf) =>
    name === undefined ? sql`deleted is null` : sql`deleted is null and ${contains(sql`name`, value('name'))}`;

  const page = (dialect: Dialect, value: ValueOf, count: RawBuilder<unknown>) =>
    sql<PlantRow>`select id, name, tag, deleted ${rows(dialect, value)} limit ${count}`;

  const selectPages = statement<{ pages: readonly object[] }, NumberedRow>((parameter, dialect) => {
    const value: ValueOf = (name) =>
      sql`cast(item.value ->> ${sql.lit(name)} as ${name === 'tag' ? sql`text` : sql`bigint`})`;
    const each = dialect.forEach?.(parameter('pages'), page(dialect, value, value('count')));
    return sql`select number, page.* from ${each} order by number, id ${direction}`;
  }, `pages_${kind}`);

  return {
    page: partStatement((value, dialect) => page(dialect, value, dialect.hideLimit(value('count'))), {
      name: `page_${kind}`,
      mayBeCut: true,
    }),
    pages: (session, pages) =>
      selectPages(session, {
        pages: pages.map((values) => ({ ...values, low: `${values.low}`, high: `${values.high}` })),
      }),
    end: statement(
      (value, dialect) =>
        sql`select id ${rows(dialect, value)} limit 1 offset ${dialect.hideLimit(value('count'))} - 1`,
    ),
    search: partStatement((value, dialect) => {
      const matches = rows(dialect, value, isWanted(dialect, value));
      return sql`select id, name, tag ${matches} limit ${dialect.hideLimit(value('count'))}`;
    }),
    count: statement((value, dialect) => {
      // Deleted plants have no tag, so the index on tags has all that is needed.
      const isInIndex = tag !== undefined && name === undefined;
      return sql`
        select count(*) ${isInIndex ? sql`` : sql`filter (where ${isWanted(dialect, value)})`} as count,
          count(*) as scanned, max(id) as last
        from (
          select id ${isInIndex ? sql`` : sql`, name, deleted`} ${rows(dialect, value)}
          limit ${dialect.hideLimit(value('count'))}
        ) as scanned`;
    }),
  };
}
