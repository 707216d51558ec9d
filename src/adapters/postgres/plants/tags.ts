import { type RawBuilder, sql } from 'kysely';
import type { PlantStore } from '../../../application/ports.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import { decimalId } from '../../../wire/plant-id.ts';
import type { Database } from '../database.ts';
import type { Run } from '../run.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, SIZE } from './columns.ts';

/** Hashes of tags that one statement leaps to, which takes some milliseconds. */
const HASHES = 16;

/** Plants of a hash that are looked at, one more of which shows that there are more. */
const COUNTED = 1_000;

interface TagRow {
  readonly hash: bigint;
  readonly tag: string;
  readonly count: number;
  /** How many plants of the hash were looked at, at most. */
  readonly most: number;
}

/**
 * Reads the tags in the order of the index, which has their hashes (migration 0002), leaping from one to the next. Of a hash
 * it looks at fewer plants if the tag is large, since each is read to be compared. Deleted plants have no tag.
 */
export function tagReader({ sql: tables, isDistributed }: Database, run: Run): PlantStore['readTags'] {
  const hash = sql`hashtextextended(plants.tag, 0)`;
  const select = statement<{ from: string; most: number }, TagRow>((parameter) => {
    const leap = (condition: RawBuilder<unknown>) => sql`
      select ${hash} as hash, octet_length(tag) as size from plants where tag is not null and ${condition}
      order by ${hash}, id limit 1`;
    return sql<TagRow>`
      with recursive leaps (hash, size, total, number) as (
        select hash, size, size::bigint, 1 from (${leap(sql`${hash} >= ${parameter('from')}::bigint`)}) as first
        union all
        select next.hash, next.size, total + next.size, number + 1
        from leaps, lateral (${leap(sql`${hash} > leaps.hash`)}) as next
        where number < ${parameter('most')} and total < ${sql.lit(SIZE.read)}
      ), bounded as (
        select hash, greatest(1, least(${sql.lit(COUNTED)}, ${sql.lit(SIZE.read)} / greatest(size, 1))) + 1 as most
        from leaps
      )
      select bounded.hash, tag, count(*)::int as count, most
      from bounded, lateral (
        select tag from plants where tag is not null and ${hash} = bounded.hash order by id limit most
      ) as looked_at
      where ${FAIL_ON_STANDBY}
      group by bounded.hash, tag, most order by bounded.hash`.compile(tables);
  });

  return async (after, count) => {
    const last = after === undefined ? undefined : decimalId.parse(after);
    if (after !== undefined && last === undefined) {
      throw new PlantStoreError('invalid_plant', 'after must be the "next" of an earlier response of /tags');
    }
    if (last === MAX_INT64) return { tags: [], next: undefined };
    const from = last === undefined ? MIN_INT64 : last + 1n;
    const most = Math.min(count, HASHES);
    const { rows } = await run('backgroundReads', async () => {
      // Its recursive queries cannot leap over all shards together.
      if (!(await isDistributed())) return tables.executeQuery(select({ from: `${from}`, most }));
      throw new PlantStoreError('tags_unavailable', 'tags cannot be listed: the table is distributed by Citus');
    });
    const byHash = Map.groupBy(rows, ({ hash }) => hash);
    const tags = [...byHash.values()].flatMap((alike) => {
      const lookedAt = alike.reduce((total, { count }) => total + count, 0);
      return alike.map(({ tag, count, most }) => {
        const isExact = lookedAt < most;
        return { tag, count: isExact ? count : Math.min(count, most - 1), isExact };
      });
    });
    return { tags, next: rows.length === 0 ? undefined : `${rows.at(-1)?.hash}` };
  };
}
