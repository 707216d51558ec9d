import type { Ports } from '../../application/use-cases.ts';
import { changeFeed } from './change-feed.ts';
import { distribution } from './citus.ts';
import type { Database } from './database.ts';
import { plantInserts } from './plant-inserts.ts';
import { plantReader } from './plant-reader.ts';
import { plantUpdates } from './plant-updates.ts';
import type { CallStore } from './store-call.ts';

interface PlantsOptions {
  readonly callStore: CallStore;
  /** The maximum number of rows in one INSERT. */
  readonly batchRows: number;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: (plants: number) => void;
}

export interface PostgresPlants extends Ports {
  /** Plants waiting for a statement. */
  waiting(): number;
  /** Plants stored by its INSERTs, except those of an INSERT whose connection was lost before its result came. */
  inserted(): number;
  /** Ends every wait for changes, and begins no more, for shutdown. */
  stopWaiting(): void;
  /** Seconds for which a transaction that is still open has held back the feed of changes. */
  changesLag(): Promise<number>;
}

/** Plants in the table `plants`. */
export function postgresPlants(database: Database, { callStore, batchRows, onInsert }: PlantsOptions): PostgresPlants {
  const isDistributed = distribution(database);
  const feed = changeFeed(database, callStore, isDistributed);
  let inserted = 0;
  const inserts = plantInserts(database, {
    callStore,
    batchRows,
    onInsert(plants, rows) {
      inserted += rows;
      onInsert?.(plants);
      feed.announce();
    },
  });
  const updates = plantUpdates(database, callStore, isDistributed, feed.announce);
  const { readChanges, stopWaiting, lag } = feed;
  const { replace, remove } = updates;
  return {
    ...plantReader(database, callStore, isDistributed, () => inserts.running() + updates.running() > 0),
    add: inserts.add,
    replace,
    remove,
    readChanges,
    stopWaiting,
    changesLag: lag,
    waiting: inserts.waiting,
    inserted: () => inserted,
  };
}
