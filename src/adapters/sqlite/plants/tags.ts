import type { Tags } from '../../../application/ports.ts';
import type { PartReads } from '../../sql/reads-in-parts.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';

/** Tags that one read counts, which takes some milliseconds. */
const TAGS = 16;

/** Plants of a tag that are counted. */
const COUNTED = 1_000;

/** Reads the tags in the order of their index, leaping from one to the next. Deleted plants have none. */
export function tagReader({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): PartReads['tags'] {
  // As on Postgres, without the longer ones of earlier versions.
  const next = 'select tag from plants where octet_length(tag) <= 800 and tag';
  const first = statement<{ tag: string }>(sql, `${next} >= '' order by tag limit 1`);
  const following = statement<{ tag: string }>(sql, `${next} > ? order by tag limit 1`);
  const counting = statement<{ count: bigint }>(
    sql,
    `select count(*) as count from (select 1 from plants where tag = ? limit ${COUNTED + 1})`,
  );

  function readSome(after: string | undefined, most: number): Tags {
    const tags: Tags['tags'][number][] = [];
    let last = after;
    while (tags.length < most) {
      const tag = (last === undefined ? first.get() : following.get(last))?.tag;
      if (tag === undefined) return { tags, next: undefined };
      const count = Number(counting.get(tag)?.count);
      tags.push({ tag, count: Math.min(count, COUNTED), isExact: count <= COUNTED });
      last = tag;
    }
    return { tags, next: last };
  }

  return (after, count) => read(() => readSome(after, Math.min(count, TAGS)));
}
