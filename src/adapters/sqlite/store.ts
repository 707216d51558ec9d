import { changeLog } from '../../application/changes/log.ts';
import { readsInParts } from '../sql/reads-in-parts.ts';
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
  const { announce, ...feed } = changeLog(feedReader(file));
  let inserted = 0;

  /** The writes of a group resolve one after another, before this is done. */
  function noteInserted(): void {
    onInsert(inserted);
    inserted = 0;
  }

  return {
    ...plantWriter(file, {
      onInsert() {
        if (++inserted === 1) queueMicrotask(noteInserted);
        announce();
      },
      onUpdate: announce,
    }),
    find: plantFinder(file),
    ...readsInParts({ plants: plantScanner(file), tags: tagReader(file) }),
    ...feed,
  };
}
