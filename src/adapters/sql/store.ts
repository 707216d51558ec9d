import { changeLog } from '../../application/changes/log.ts';
import type { LogReader } from '../../application/changes/ports.ts';
import { logReader } from './changes/reader.ts';
import { plantFinder } from './reads/find.ts';
import { readsInParts } from './reads/reads-in-parts.ts';
import { plantScanner } from './reads/scan.ts';
import { tagReader } from './reads/tags.ts';
import type { Executor } from './run.ts';
import { listAdder } from './writes/add-all.ts';
import { groupCommit } from './writes/group-commit.ts';
import { plantWriter } from './writes/write.ts';

interface SqlStoreOptions extends Executor {
  /** Milliseconds until a call is given up. */
  readonly timeout: number;
  /** Lists of plants that the database has at once, at most. */
  readonly maxRunning?: number;
  /** Plants in one statement, at most. */
  readonly batchRows?: number;
  /** What is not read as everywhere: which transaction holds back changes, where several run at the same time. */
  readonly ownLog?: Partial<LogReader>;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: ((plants: number) => void) | undefined;
}

/** Plants of a list in one statement: as many as clients send in a request, so that few commits wait for the disk. */
const LIST_ROWS_MAX = 1_000;

/** Plants in the table `plants`, and the log of their changes. */
export function sqlStore({ timeout, maxRunning = 1, batchRows = 256, ownLog, onInsert, ...executor }: SqlStoreOptions) {
  const { run } = executor;
  const log = changeLog({ holder: async () => undefined, ...logReader(run), ...ownLog });
  const write = plantWriter(executor, (created) => {
    if (created > 0) onInsert?.(created);
    log.announce();
  });
  const options = { maxItems: batchRows, maxRunning, timeout };
  const { add, find, replace, remove } = groupCommit({ write, find: plantFinder(executor) }, options);
  const addAll = listAdder(write, { batchRows: LIST_ROWS_MAX, timeout });
  const { list, count } = readsInParts(plantScanner(executor, options));
  return { ...log, add, find, replace, remove, addAll, list, count, tags: tagReader(run) };
}
