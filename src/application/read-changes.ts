import type { ChangeFeed, Changes, ChangesQuery } from './ports.ts';

/**
 * Reads what has changed since, and waits for it if nothing has.
 *
 * @throws PlantStoreError `invalid_plant`, `cursor_expired`, `changes_unavailable`, `store_unavailable` as the port does
 */
export type ReadChanges = (query: ChangesQuery) => Promise<Changes>;

export function readChanges(feed: ChangeFeed): ReadChanges {
  return (query) => feed.readChanges(query);
}
