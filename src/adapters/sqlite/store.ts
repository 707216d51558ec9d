import { changeLog } from '../../application/changes/log.ts';
import { logReader } from '../sql/changes/reader.ts';
import { plantFinder } from '../sql/find.ts';
import { readsInParts } from '../sql/reads-in-parts.ts';
import { plantScanner } from '../sql/scan.ts';
import { tagReader } from '../sql/tags.ts';
import { listAdder } from '../sql/writes/add-all.ts';
import { groupCommit } from '../sql/writes/group-commit.ts';
import { plantWriter } from '../sql/writes/write.ts';
import type { DatabaseFile } from './file/database-file.ts';
import { failureOf } from './file/failures.ts';

/** Plants in a list, at most. */
const LIST = 256;

/** Plants in a file of SQLite. @param onInsert called with the number of plants in each INSERT */
export function sqliteStore(
  file: Pick<DatabaseFile, 'run' | 'timeout'>,
  onInsert: (plants: number) => void = () => {},
) {
  const { run, timeout } = file;
  const { announce, ...feed } = changeLog({ ...logReader(run), holder: async () => undefined });
  const write = plantWriter(run, failureOf, (created) => {
    if (created > 0) onInsert(created);
    announce();
  });
  const options = { maxItems: LIST, maxRunning: 1, timeout };
  return {
    ...groupCommit({ write, find: plantFinder(run, failureOf) }, options),
    addAll: listAdder(write, { batchRows: LIST, timeout }),
    ...readsInParts({ ...plantScanner(run, failureOf, options), tags: tagReader(run) }),
    ...feed,
  };
}
