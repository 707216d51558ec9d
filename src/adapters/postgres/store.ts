import { changeFeed } from '../feed/change-feed.ts';
import { feedReader } from './changes/feed-reader.ts';
import type { Database } from './database.ts';
import { plantFinder } from './plants/find.ts';
import { plantScanner } from './plants/scan.ts';
import { tagReader } from './plants/tags.ts';
import { plantWriter } from './plants/write.ts';
import type { Run } from './run.ts';

interface StoreOptions {
  readonly run: Run;
  /** Milliseconds until writes are given up that have no time of their own. */
  readonly timeout: number;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: (plants: number) => void;
}

/** Plants in the table `plants`, and the feed of their changes. */
export function postgresStore(database: Database, { run, timeout, onInsert }: StoreOptions) {
  const { part, end, holder } = feedReader(database);
  const { announce, ...feed } = changeFeed({
    part: (...range) => run('feed', () => part(...range)),
    partForWebhooks: (...range) => run('backgroundReads', () => part(...range)),
    end: () => run('feed', end),
    // Of readiness and metrics, too, which wait for no request.
    holder,
  });
  return {
    write: plantWriter(database, run, {
      timeout,
      onInsert(plants) {
        onInsert?.(plants);
        announce();
      },
      onUpdate: announce,
    }),
    find: plantFinder(database, run),
    scan: plantScanner(database, run, timeout),
    readTags: tagReader(database, run),
    ...feed,
  };
}
