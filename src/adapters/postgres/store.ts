import { changeLog } from '../../application/changes/log.ts';
import { logReader } from '../sql/changes/reader.ts';
import { plantFinder } from '../sql/find.ts';
import { readsInParts } from '../sql/reads-in-parts.ts';
import { foreground, type Run } from '../sql/run.ts';
import { plantScanner } from '../sql/scan.ts';
import { tagReader } from '../sql/tags.ts';
import { listAdder } from '../sql/writes/add-all.ts';
import { groupCommit } from '../sql/writes/group-commit.ts';
import { plantWriter } from '../sql/writes/write.ts';
import { holderIn } from './change-log.ts';
import type { Database } from './database.ts';

interface StoreOptions {
  readonly run: Run;
  /** Milliseconds until a call is given up. */
  readonly timeout: number;
  /** Plants in one statement, at most; 256 if it is not given. */
  readonly batchRows?: number;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: (plants: number) => void;
}

/** Plants in the table `plants`, and the feed of their changes. */
export function postgresStore(database: Database, { run, timeout, batchRows = 256, onInsert }: StoreOptions) {
  const { announce, ...feed } = changeLog({ ...logReader(run), holder: holderIn(database) });
  const write = plantWriter(run, database.failureOf, (created) => {
    if (created > 0) onInsert?.(created);
    announce();
  });
  const lists = { write, find: plantFinder(run, database.failureOf) };
  const options = { maxItems: batchRows, maxRunning: foreground(database), timeout };
  return {
    ...groupCommit(lists, options),
    addAll: listAdder(write, { batchRows, timeout }),
    ...readsInParts({ ...plantScanner(run, database.failureOf, options), tags: tagReader(run) }),
    ...feed,
  };
}
