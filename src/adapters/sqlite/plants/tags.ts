import type { ReadTags, Tags } from '../../../application/ports.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { READ_TEXT } from './columns.ts';

/** Tags that one read counts, which takes some milliseconds. */
const TAGS = 16;

/** Plants of a tag that are counted. */
const COUNTED = 1_000;

/** Reads the tags in the order of their index, leaping from one to the next. Deleted plants have none. */
export function tagReader({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): ReadTags['readTags'] {
  const first = statement<{ tag: string }>(sql, 'select tag from plants where tag is not null order by tag limit 1');
  const following = statement<{ tag: string }>(sql, 'select tag from plants where tag > ? order by tag limit 1');
  const counting = statement<{ count: bigint }>(
    sql,
    `select count(*) as count from (select 1 from plants where tag = ? limit ${COUNTED + 1})`,
  );

  function readSome(after: string | undefined, most: number) {
    const tags: Tags['tags'][number][] = [];
    let size = 0;
    let row = after === undefined ? first.get() : following.get(after);
    for (; row !== undefined && tags.length < most && size < READ_TEXT; row = following.get(row.tag)) {
      const { tag } = row;
      const count = Number(counting.get(tag)?.count);
      tags.push({ tag, count: Math.min(count, COUNTED), isExact: count <= COUNTED });
      size += Buffer.byteLength(tag);
    }
    const last = tags.at(-1);
    return { tags, next: row && last && placeOf(last.tag) };
  }

  return async (after, count) => {
    const from = after === undefined ? undefined : tagAt(after);
    return read(() => readSome(from, Math.min(count, TAGS)));
  };
}

/** Never empty. */
const placeOf = (tag: string) => Buffer.from(JSON.stringify(tag)).toString('base64url');

/** @throws PlantStoreError `invalid_plant` if it is no place */
function tagAt(place: string): string {
  try {
    const tag: unknown = JSON.parse(Buffer.from(place, 'base64url').toString());
    if (typeof tag === 'string' && placeOf(tag) === place) return tag;
  } catch {}
  throw new PlantStoreError('invalid_plant', 'after must be the "next" of an earlier response of /tags');
}
