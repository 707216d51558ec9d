import { changeLog } from '../../application/changes/log.ts';
import { plantFinder } from '../sql/find.ts';
import { readsInParts } from '../sql/reads-in-parts.ts';
import { foreground, type Run } from '../sql/run.ts';
import { plantScanner } from '../sql/scan.ts';
import { tagReader } from '../sql/tags.ts';
import { listAdder } from '../sql/writes/add-all.ts';
import { groupCommit } from '../sql/writes/group-commit.ts';
import { plantWriter } from '../sql/writes/write.ts';
import { feedReader } from './changes/feed-reader.ts';
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
  const { part, end, holder } = feedReader(database);
  const { announce, ...feed } = changeLog({
    part: (...range) => run('feed', () => part(...range)),
    partForWebhooks: (...range) => run('backgroundReads', () => part(...range)),
    end: () => run('feed', end),
    // Of readiness and metrics, too, which wait for no request.
    holder,
  });
  const write = plantWriter(run, database.failureOf, (created) => {
    if (created > 0) onInsert?.(created);
    announce();
  });
  const lists = { write, find: plantFinder(run, database.failureOf) };
  return {
    ...groupCommit(lists, { maxItems: batchRows, maxRunning: foreground(database), timeout }),
    addAll: listAdder(write, { batchRows, timeout }),
    ...readsInParts({ ...plantScanner(run), tags: tagReader(run) }),
    ...feed,
  };
}
