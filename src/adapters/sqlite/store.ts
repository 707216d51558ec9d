import { changeFeed } from '../feed/change-feed.ts';
import { feedReader } from './changes/feed-reader.ts';
import type { DatabaseFile } from './file/database-file.ts';
import { plantFinder } from './plants/find.ts';
import { plantScanner } from './plants/scan.ts';
import { tagReader } from './plants/tags.ts';
import { plantWriter } from './plants/write.ts';

/** Plants in a file of SQLite. @param onInsert called with the number of plants in each INSERT */
export function sqliteStore(
  file: Pick<DatabaseFile, 'sql' | 'read' | 'write'>,
  onInsert: (plants: number) => void = () => {},
) {
  const { announce, ...feed } = changeFeed(feedReader(file));
  let inserted = 0;

  /** The writes of a group resolve one after another, before this is done. */
  function noteInserted(): void {
    onInsert(inserted);
    inserted = 0;
  }

  return {
    write: plantWriter(file, ({ before }) => {
      if (before === undefined && ++inserted === 1) queueMicrotask(noteInserted);
      announce();
    }),
    find: plantFinder(file),
    scan: plantScanner(file),
    readTags: tagReader(file),
    ...feed,
  };
}
