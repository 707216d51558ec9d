import type { Changes, ReadChanges as Feed } from './ports.ts';

interface ChangesQuery {
  /** Where the consumer is: the `next` of what it read last; undefined to begin. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Milliseconds to wait for a change if there is none. */
  readonly wait: number;
  /** Aborts when nobody wants the result any more. */
  readonly signal: AbortSignal;
}

/**
 * Reads what has changed since, and waits for it if nothing has.
 *
 * @throws PlantStoreError `invalid_plant`, `cursor_expired`, `changes_unavailable`, `store_unavailable` as the port does
 */
export type ReadChanges = (query: ChangesQuery) => Promise<Changes>;

export function readChanges(feed: Feed): ReadChanges {
  return async ({ after, limit, wait, signal }) => {
    const end = performance.now() + wait;
    let changes = await feed.readChanges(after, limit);
    while (changes.lines === '' && (await feed.awaitChanges(changes.next, end - performance.now(), signal))) {
      changes = await feed.readChanges(changes.next, limit);
    }
    return changes;
  };
}
