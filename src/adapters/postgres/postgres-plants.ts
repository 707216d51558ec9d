import type { Ports } from '../../application/use-cases.ts';
import type { ReadEntries } from '../../application/webhooks/ports.ts';
import type { CallStore } from './calls/store-call.ts';
import { changeFeed } from './changes/change-feed.ts';
import { changesLag } from './changes/change-lag.ts';
import type { Database } from './database.ts';
import { plantInserts } from './plants/plant-inserts.ts';
import { plantLookup } from './plants/plant-lookup.ts';
import { plantReader } from './plants/plant-reader.ts';
import { plantUpdates } from './plants/plant-updates.ts';

interface PlantsOptions {
  readonly callStore: CallStore;
  /** For writes, which may have to wait for more than reads. */
  readonly callToWrite?: CallStore;
  /** The maximum number of rows in one INSERT. */
  readonly batchRows: number;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: (plants: number) => void;
}

export interface PostgresPlants extends Ports, Pick<ReadEntries, 'awaitEntries'> {
  /** Plants waiting for a statement. */
  waiting(): number;
  /** Whether statements that write are running. */
  isWriting(): boolean;
  /** Ends every wait for changes, and begins no more, for shutdown. */
  stopWaiting(): void;
  /** Seconds for which a transaction that is still open has held back the feed of changes. */
  changesLag(): Promise<number>;
}

/** Plants in the table `plants`. */
export function postgresPlants(
  database: Database,
  { callStore, callToWrite = callStore, batchRows, onInsert }: PlantsOptions,
): PostgresPlants {
  const feed = changeFeed(database, callStore);
  const lookUp = plantLookup(database);
  const inserts = plantInserts(database, lookUp, {
    callStore: callToWrite,
    batchRows,
    onInsert(plants) {
      onInsert?.(plants);
      feed.announce();
    },
  });
  const updates = plantUpdates(database, lookUp, callToWrite, feed.announce);
  const isWriting = () => inserts.running() + updates.running() > 0;
  return {
    ...plantReader(database, callStore, isWriting),
    add: inserts.add,
    replace: updates.replace,
    remove: updates.remove,
    readChanges: feed.readChanges,
    awaitEntries: feed.awaitEntries,
    stopWaiting: feed.stopWaiting,
    changesLag: changesLag(database, callStore),
    waiting: inserts.waiting,
    isWriting,
  };
}
