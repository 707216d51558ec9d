import { CompiledQuery } from 'kysely';
import type { PlantRange } from '../../application/ports.ts';

/* The statements that read plants. As plain text: Kysely would take longer to compile one than Postgres to run it. */

/** A plant; without its texts if they are larger than the statement allows. */
export interface PlantRow {
  readonly id: string | number | bigint;
  readonly name: string | null;
  readonly tag: string | null;
}

/** The records of a range in one text, separated by line feeds; LARGE stands for a large plant. */
export interface PlantLines {
  readonly lines: string | null;
  readonly count: number;
}

/** No JSON begins so. */
export const LARGE = '!';

const SIZE = 'octet_length(name) + coalesce(octet_length(tag), 0)';

/** The plant that has the id. */
export function selectPlant(id: bigint): CompiledQuery<PlantRow> {
  return CompiledQuery.raw('select id, name, tag from plants where id = $1', [id]);
}

/** The plants that have these ids. @param maxSize of the texts of each, in octets */
export function selectPlants(ids: readonly bigint[], maxSize: number): CompiledQuery<PlantRow> {
  return CompiledQuery.raw(
    `select id, case when ${SIZE} <= $2 then name end as name, case when ${SIZE} <= $2 then tag end as tag
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
  return CompiledQuery.raw(
    `select found.* from unnest($1::bigint[], $2::bigint[], $3::bigint[]) with ordinality as wanted (low, high, most, n),
     lateral (
       select count(*)::int as count, string_agg(${line}, E'\\n' order by id) as lines
       from (
         select id, name, tag from plants where id between low and high ${tagged} order by id limit most
       ) as plant
     ) as found order by n`,
    [...columns.map((values) => `{${values.join()}}`), maxSize, ...(tag === undefined ? [] : [tag])],
  );
}

/** The first plants of a range, until their texts together have more than so many octets; the first one in any case. */
export function selectSized(range: PlantRange, count: number, totalSize: number): CompiledQuery<PlantRow> {
  const fits = 'total <= $4 or total = size';
  return rangeQuery(
    `select id, case when ${fits} then name end as name, case when ${fits} then tag end as tag from (
       select *, sum(size) over (order by id rows unbounded preceding) as total
       from (select *, ${SIZE} as size from (${candidates(range, '$5')}) as plant) as measured
     ) as added order by id`,
    range,
    [count, totalSize],
  );
}

/** The first ids of a range. */
export function selectIds(range: PlantRange, count: number): CompiledQuery<Pick<PlantRow, 'id'>> {
  return rangeQuery(`select id from (${candidates(range, '$4')}) as plant order by id`, range, [count]);
}

function candidates({ tag }: PlantRange, place: string): string {
  const tagged = tag === undefined ? '' : `and ${hasTag(place)}`;
  return `select id, name, tag from plants where id between $1 and $2 ${tagged} order by id limit $3`;
}

/** The index of tags has their hashes only, since a text may be longer than a btree allows (migration 0002). */
function hasTag(place: string): string {
  return `hashtextextended(tag, 0) = hashtextextended(${place}, 0) and tag = ${place}`;
}

function rangeQuery<Row>(text: string, { from, to, tag }: PlantRange, more: readonly number[]): CompiledQuery<Row> {
  return CompiledQuery.raw(text, [from, to, ...more, ...(tag === undefined ? [] : [tag])]);
}
