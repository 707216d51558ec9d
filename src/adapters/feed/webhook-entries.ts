import type { Entry, ReadEntries } from '../../application/webhooks/ports.ts';
import type { FeedReader, FeedRow } from './feed-reader.ts';
import { sharedRuns } from './shared-run.ts';

/** Rows of a page. */
const PAGE_ROWS = 200;

/** Reads what has to be delivered. @param awaitEntries as the port says */
export function webhookEntries(
  { part }: Pick<FeedReader, 'part'>,
  awaitEntries: ReadEntries['awaitEntries'],
): ReadEntries {
  const sharedRead = sharedRuns<Awaited<ReturnType<ReadEntries['readEntries']>>>();
  return {
    awaitEntries,
    /** Endpoints at one position share a statement. */
    readEntries: (after) =>
      sharedRead(`${after.changed}/${after.id}`, async () => {
        const { end, rows } = await part(after, PAGE_ROWS);
        return { epoch: end.epoch, entries: rows.map(entryOf) };
      }),
  };
}

function entryOf({ changed, id, stored }: FeedRow): Entry {
  return { changed, id, plant: stored === 'deleted' ? undefined : stored };
}
