import { hash } from 'node:crypto';
import type { PlantStore, Tags } from '../../../application/ports.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { decimalId } from '../../../wire/plant-id.ts';
import { statement } from '../file/connection.ts';
import type { DatabaseFile } from '../file/database-file.ts';
import { SIZE } from './columns.ts';

/** Tags that one read counts, which takes some milliseconds. */
const TAGS = 16;

/** Plants of a tag that are counted. */
const COUNTED = 1_000;

/** Characters of a tag that a place has as a whole, since a URL has room for it. */
const WHOLE = 1_000;

/** A tag, and the plant that the index has first of those that have it. */
interface TagRow {
  readonly tag: string;
  readonly id: bigint;
}

/** Reads the tags in the order of their index, leaping from one to the next. Deleted plants have none. */
export function tagReader({ sql, read }: Pick<DatabaseFile, 'sql' | 'read'>): PlantStore['readTags'] {
  const next = 'select tag, id from plants where tag';
  const from = statement<TagRow>(sql, `${next} >= ? order by tag, id limit 1`);
  const following = statement<TagRow>(sql, `${next} > ? order by tag, id limit 1`);
  const ofPlant = statement<{ tag: string | null }>(sql, 'select tag from plants where id = ?');
  const counting = statement<{ count: bigint }>(
    sql,
    `select count(*) as count from (select 1 from plants where tag = ? limit ${COUNTED + 1})`,
  );

  function rowAfter({ start, id, digest }: Place) {
    if (id === undefined) return following.get(start);
    const tag = ofPlant.get(id)?.tag ?? '';
    // If the plant has another tag now, tags that begin in the same way may come again, but none is left out.
    return digestOf(tag) === digest ? following.get(tag) : from.get(start);
  }

  function readSome(after: Place | undefined, most: number) {
    const tags: Tags['tags'][number][] = [];
    let size = 0;
    let last: TagRow | undefined;
    let row = after === undefined ? from.get('') : rowAfter(after);
    for (; row !== undefined && tags.length < most && size < SIZE.read; row = following.get(row.tag)) {
      const { tag } = row;
      const count = Number(counting.get(tag)?.count);
      tags.push({ tag, count: Math.min(count, COUNTED), isExact: count <= COUNTED });
      size += Buffer.byteLength(tag);
      last = row;
    }
    return { tags, next: row && last && encoded(placeOf(last)) };
  }

  return async (after, count) => {
    const place = after === undefined ? undefined : placeIn(after);
    return read(() => readSome(place, Math.min(count, TAGS)));
  };
}

/** A tag after which a page begins: as a whole, or else its beginning, and a plant that has it. */
interface Place {
  readonly start: string;
  readonly id?: bigint | undefined;
  readonly digest?: string;
}

const digestOf = (tag: string) => hash('sha256', tag, 'base64url');

const placeOf = ({ tag, id }: TagRow): Place =>
  tag.length <= WHOLE ? { start: tag } : { start: tag.slice(0, WHOLE), id, digest: digestOf(tag) };

/** Never empty. */
const encoded = ({ start, id, digest }: Place) =>
  Buffer.from(JSON.stringify(id === undefined ? start : [start, `${id}`, digest])).toString('base64url');

/** @throws PlantStoreError `invalid_plant` if it is no place */
function placeIn(text: string): Place {
  try {
    const [start, id = '', digest] = [JSON.parse(Buffer.from(text, 'base64url').toString())].flat();
    const place = { start, id: decimalId.parse(id), digest };
    if (typeof start === 'string' && encoded(place) === text) return place;
  } catch {}
  throw new PlantStoreError('invalid_plant', 'after must be the "next" of an earlier response of /tags');
}
