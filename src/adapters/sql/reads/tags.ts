import { type RawBuilder, sql } from 'kysely';
import type { PlantRepository, Tags } from '../../../application/ports.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { readParts } from './reads-in-parts.ts';

/** Tags that one statement leaps to, which takes some milliseconds. */
const PART_TAGS_MAX = 16;

/** Plants of a tag that are counted. */
const COUNTED_PLANTS_MAX = 1_000;

interface TagRow {
  readonly tag: string;
  readonly count: bigint;
}

/** Reads the tags in the order of their index, leaping from one to the next. Deleted plants have none. */
export function tagReader(run: Run): PlantRepository['tags'] {
  const select = (comparison: RawBuilder<unknown>) =>
    statement<{ start: string; most: number }, TagRow>((parameter, { tagKey, hasTag, isCurrent }) => {
      const leap = (isNext: RawBuilder<unknown>) => sql`(
        select tag from plants where octet_length(tag) <= 800 and ${tagKey} ${isNext} order by ${tagKey}, id limit 1)`;
      const all = hasTag(sql`leaps.tag`, sql.lit(`${MIN_INT64}`), sql.lit(`${MAX_INT64}`));
      // In the order of the index, or Postgres might read all plants of the tag.
      const first = sql`select 1 from plants where ${all} order by ${tagKey}, id limit ${sql.lit(COUNTED_PLANTS_MAX + 1)}`;
      return sql<TagRow>`
        with recursive leaps (tag, number) as (
          select ${leap(sql`${comparison} ${parameter('start')}`)}, 1
          union all
          select ${leap(sql`> leaps.tag`)}, number + 1 from leaps
          where tag is not null and number < cast(${parameter('most')} as integer)
        )
        select tag, (select count(*) from (${first}) as counted) as count
        from leaps where tag is not null and ${isCurrent} order by number`;
    });
  const [first, later] = [select(sql`>=`), select(sql`>`)];

  const readPart = (last: string | undefined, count: number): Promise<Tags> =>
    run('backgroundReads', async (session) => {
      if (!session.dialect.canRecurse)
        throw new PlantStoreError('tags_unavailable', 'the table is on several servers, so there is no list of tags');
      const most = Math.min(count, PART_TAGS_MAX);
      const values = { start: last ?? '', most };
      const rows = await (last === undefined ? first(session, values) : later(session, values));
      const tags = rows.map(({ tag, count }) => ({
        tag,
        count: Math.min(Number(count), COUNTED_PLANTS_MAX),
        isExact: count <= COUNTED_PLANTS_MAX,
      }));
      return { tags, next: rows.length < most ? undefined : rows.at(-1)?.tag };
    });

  return async (start, count, signal) => {
    const tags: Tags['tags'][number][] = [];
    const next = await readParts(start, signal, async (after) => {
      const part = await readPart(after, count - tags.length);
      tags.push(...part.tags);
      return { next: part.next, isEnough: tags.length === count };
    });
    return { tags, next };
  };
}
