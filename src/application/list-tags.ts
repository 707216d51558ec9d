import { PAGE_TIME } from './list-plants.ts';
import type { PlantStore, Tags } from './ports.ts';

interface TagsQuery {
  /** The `next` of the part before. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal;
}

/**
 * Lists the tags that plants have, each once: `limit` of them, unless the page ends early since it has taken a second.
 *
 * @throws PlantStoreError as the port does
 */
type ListTags = (query: TagsQuery) => Promise<Tags>;

/** @param now the time in milliseconds */
export function listTags({ readTags }: Pick<PlantStore, 'readTags'>, now = () => performance.now()): ListTags {
  return async ({ after, limit, signal }) => {
    const end = now() + PAGE_TIME;
    const found: Tags['tags'][number][] = [];
    for (let from = after; ; ) {
      const { tags, next } = await readTags(from, limit - found.length);
      found.push(...tags);
      const isOver = found.length >= limit || now() >= end || signal.aborted;
      if (next === undefined || isOver) return { tags: found, next };
      from = next;
    }
  };
}
