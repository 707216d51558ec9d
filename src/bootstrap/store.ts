import type { Logger } from 'pino';
import type { Sources } from '../adapters/metrics/metrics.ts';
import type { PlantRepository } from '../application/ports.ts';
import type { EndpointState, KeepPositions, ReadEntries } from '../application/webhooks/ports.ts';
import type { Config } from '../config/config.ts';

/** A database that is open, whichever it is. */
export interface Store extends PlantRepository, ReadEntries {
  /** Which database this is, in words. */
  readonly description: string;
  /** Whether it has a feed of changes; resolves to true while that is not known. */
  readonly hasFeed: () => Promise<boolean>;
  /**
   * Rejects, with what to do, while plants cannot be stored. Resolves to what does not work though they can, in words, or to
   * undefined.
   */
  readonly ready: () => Promise<string | undefined>;
  /** Where the configured endpoints are in the feed. */
  readonly positions: KeepPositions;
  readonly endpointStates: () => Promise<readonly EndpointState[]>;
  /** For how long the oldest plant has waited that an endpoint has not acknowledged, since this process has seen it. */
  readonly waitingSeconds: (state: EndpointState) => number;
  /** What metrics show of it; each may reject, or take long. */
  readonly measures: Pick<Sources, 'connections' | 'changesLag'>;
  /** Ends every wait for changes, and begins no more, for shutdown. */
  stopWaiting(): void;
  close(): Promise<void>;
}

/** What a store needs beside its database. */
export interface StoreOptions extends Pick<Config, 'webhooks'> {
  /** Milliseconds for which a request may wait for the store. */
  readonly storeTimeout: number;
  readonly log: Logger;
  /** Called with the number of plants in each INSERT. */
  readonly onInsert: (plants: number) => void;
}
