import { CompiledQuery } from 'kysely';
import type { PlantRange } from '../../application/ports.ts';
import type { NewPlant } from '../../domain/plant.ts';

/* The statements that read plants. As plain text: Kysely would take longer to compile one than Postgres to run it. */

/** As pg and PGlite return an int8. */
export type Int8 = string | number | bigint;

/** A plant or a deleted one; without its texts if they are larger than the statement allows. */
export interface PlantRow {
  readonly id: Int8;
  readonly name: string | null;
  readonly tag: string | null;
  readonly is_deleted: boolean;
}

/** What a row that has its texts stands for. */
export function storedIn({ id, name, tag, is_deleted }: PlantRow): NewPlant | 'deleted' {
  return is_deleted ? 'deleted' : { id: BigInt(id), name: name ?? '', ...(tag !== null && { tag }) };
}

/** The records of a range in one text, separated by line feeds; LARGE stands for a large plant. */
export interface PlantLines {
  readonly lines: string | null;
  readonly count: number;
  /** The last id that was scanned, if that was not all: deleted plants count, too. */
  readonly reached: Int8 | null;
}

/** Rows that a statement scans beyond those it is asked for, so that no number of deleted plants makes it long. */
const MORE_SCANNED = 5_000;

/** No JSON begins so. */
export const LARGE = '!';

/** The octets of the texts of a row. */
export const SIZE = 'octet_length(name) + coalesce(octet_length(tag), 0)';

/** The plant that has the id. */
export function selectPlant(id: bigint): CompiledQuery<PlantRow> {
  return CompiledQuery.raw('select id, name, tag, deleted is not null as is_deleted from plants where id = $1', [id]);
}

/** The plants that have these ids. @param maxSize of the texts of each, in octets */
export function selectPlants(ids: readonly bigint[], maxSize: number): CompiledQuery<PlantRow> {
  return CompiledQuery.raw(
    `select id, case when ${SIZE} <= $2 then name end as name, case when ${SIZE} <= $2 then tag end as tag,
       deleted is not null as is_deleted
     from plants where id = any($1::bigint[])`,
    [`{${ids.join()}}`, maxSize],
  );
}

/** The first plants of a range. */
export interface RangeRequest {
  readonly range: PlantRange;
  readonly count: number;
}

/**
 * The first plants of each range as JSON, a row for each in the same order. A tag is that of all ranges.
 *
 * @param maxSize of the texts of a plant, in octets
 */
export function selectLines(requests: readonly RangeRequest[], maxSize: number): CompiledQuery<PlantLines> {
  const tag = requests[0]?.range.tag;
  const tagged = tag === undefined ? '' : `and ${hasTag('$5')}`;
  const line = `case when ${SIZE} <= $4 then row_to_json(plant)::text else '${LARGE}' end`;
  const columns = [
    requests.map(({ range }) => range.from),
    requests.map(({ range }) => range.to),
    requests.map(({ count }) => count),
  ];
  const scanned = `from plants where id between low and high ${tagged} order by id limit most + ${MORE_SCANNED}`;
  return CompiledQuery.raw(
    `select found.*, case when count < most then (
       select case when count(*) = most + ${MORE_SCANNED} then max(id) end from (select id ${scanned}) as plant
     ) end as reached
     from unnest($1::bigint[], $2::bigint[], $3::bigint[]) with ordinality as wanted (low, high, most, n),
     lateral (
       select count(*)::int as count, string_agg(${line}, E'\\n' order by id) as lines
       from (
         select id, name, tag from (select id, name, tag, deleted ${scanned}) as plant
         where deleted is null order by id limit most
       ) as plant
     ) as found order by n`,
    [...columns.map((values) => `{${values.join()}}`), maxSize, ...(tag === undefined ? [] : [tag])],
  );
}

/** The first rows of a range, until their texts together have more than so many octets; the first one in any case. */
export function selectSized(
  range: PlantRange,
  count: number,
  totalSize: number,
  isDistributed: boolean,
): CompiledQuery<PlantRow> {
  const fits = 'total <= $4 or total = size';
  return rangeQuery(
    `select id, case when ${fits} then name end as name, case when ${fits} then tag end as tag, is_deleted from (
       select *, sum(size) over (order by id rows unbounded preceding) as total
       from (select *, ${SIZE} as size from ${candidates(range, '$5', isDistributed)}) as measured
     ) as added order by id`,
    range,
    count,
    [totalSize],
  );
}

/** The ids of the first rows of a range. */
export function selectIds(
  range: PlantRange,
  count: number,
  isDistributed: boolean,
): CompiledQuery<Pick<PlantRow, 'id' | 'is_deleted'>> {
  const rows = candidates(range, '$4', isDistributed);
  return rangeQuery(`select id, is_deleted from ${rows} order by id`, range, count, []);
}

/**
 * The first rows of a range. Through unnest, as in selectLines: if the planner knew the count, it would rather sort all
 * plants of a frequent tag, since it misjudges how many have the hash. Citus needs the plain form to send it to shards.
 */
function candidates({ tag }: PlantRange, place: string, isDistributed: boolean): string {
  const tagged = tag === undefined ? '' : `and ${hasTag(place)}`;
  const select = (low: string, high: string, most: string) => `(
    select id, name, tag, deleted is not null as is_deleted
    from plants where id between ${low} and ${high} ${tagged} order by id limit ${most}
  ) as plant`;
  if (isDistributed) return select('($1::bigint[])[1]', '($2::bigint[])[1]', '($3::bigint[])[1]');
  const wanted = 'unnest($1::bigint[], $2::bigint[], $3::bigint[]) as wanted (low, high, most)';
  return `${wanted}, lateral ${select('low', 'high', 'most')}`;
}

/** The index of tags has their hashes only, since a text may be longer than a btree allows (migration 0002). */
function hasTag(place: string): string {
  return `hashtextextended(tag, 0) = hashtextextended(${place}, 0) and tag = ${place}`;
}

function rangeQuery<Row>(
  text: string,
  { from, to, tag }: PlantRange,
  count: number,
  more: readonly number[],
): CompiledQuery<Row> {
  const arrays = [from, to, count].map((value) => `{${value}}`);
  return CompiledQuery.raw(text, [...arrays, ...more, ...(tag === undefined ? [] : [tag])]);
}
