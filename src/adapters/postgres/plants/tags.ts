import { type RawBuilder, sql } from 'kysely';
import { PlantStoreError } from '../../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import type { PartReads } from '../../sql/reads-in-parts.ts';
import type { Database } from '../database.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, IS_INDEXED, TAG, taggedBetween } from './columns.ts';

/** Tags that one statement leaps to, which takes some milliseconds. */
const TAGS = 16;

/** Plants of a tag that are counted. */
const COUNTED = 1_000;

interface TagRow {
  readonly tag: string;
  readonly count: number;
}

/** Reads the tags in the order of their index, leaping from one to the next. Deleted plants have none. */
export function tagReader({ sql: tables, isDistributed }: Database, run: Run): PartReads['tags'] {
  const id = (value: bigint) => sql`${sql.lit(`${value}`)}::bigint`;
  const all = taggedBetween(sql`leaps.tag`, id(MIN_INT64), id(MAX_INT64));
  const select = (comparison: RawBuilder<unknown>) =>
    statement<{ start: string; most: number }, TagRow>((parameter) => {
      const leap = (condition: RawBuilder<unknown>) =>
        sql`select tag from plants where ${IS_INDEXED} and ${condition} order by ${TAG}, id limit 1`;
      const counted = sql`select from plants where ${all} order by ${TAG}, id limit ${sql.lit(COUNTED + 1)}`;
      return sql<TagRow>`
        with recursive leaps (tag, number) as (
          select tag, 1 from (${leap(sql`${TAG} ${comparison} ${parameter('start')}`)}) as first
          union all
          select next.tag, number + 1 from leaps, lateral (${leap(sql`${TAG} > leaps.tag`)}) as next
          where number < ${parameter('most')}
        )
        select leaps.tag, (select count(*)::int from (${counted}) as counted) as count
        from leaps where ${FAIL_ON_STANDBY} order by number`.compile(tables);
    });
  const [from, after] = [select(sql`>=`), select(sql`>`)];

  return async (last, count) => {
    const most = Math.min(count, TAGS);
    const query = last === undefined ? from({ start: '', most }) : after({ start: last, most });
    const { rows } = await run('backgroundReads', async () => {
      // Its recursive queries cannot leap over all shards together.
      if (!(await isDistributed())) return tables.executeQuery(query);
      throw new PlantStoreError('tags_unavailable', 'tags cannot be listed: the table is distributed by Citus');
    });
    const tags = rows.map(({ tag, count }) => ({ tag, count: Math.min(count, COUNTED), isExact: count <= COUNTED }));
    return { tags, next: rows.length < most ? undefined : rows.at(-1)?.tag };
  };
}
