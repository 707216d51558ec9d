import { changeLog } from '../../application/changes/log.ts';
import { batch } from '../sql/batch.ts';
import { plantFinder } from '../sql/find.ts';
import { readsInParts } from '../sql/reads-in-parts.ts';
import { plantScanner } from '../sql/scan.ts';
import { tagReader } from '../sql/tags.ts';
import { feedReader } from './changes/feed-reader.ts';
import type { DatabaseFile } from './file/database-file.ts';
import { failureOf } from './file/failures.ts';
import { plantWriter } from './plants/write.ts';

/** Plants in a file of SQLite. @param onInsert called with the number of plants in each INSERT */
export function sqliteStore(
  file: Pick<DatabaseFile, 'sql' | 'run' | 'timeout' | 'read' | 'write'>,
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
    find: batch(plantFinder(file.run, failureOf), { maxItems: 256, maxRunning: 1, timeout: file.timeout }),
    ...readsInParts({ ...plantScanner(file.run), tags: tagReader(file.run) }),
    ...feed,
  };
}
