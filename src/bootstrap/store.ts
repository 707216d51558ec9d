import type { Logger } from 'pino';
import type { ChangeLog } from '../application/changes/log.ts';
import type { PlantRepository } from '../application/ports.ts';
import type { EndpointState, KeepPositions } from '../application/webhooks/ports.ts';

/** An open database of either kind. */
export interface Store extends PlantRepository, ChangeLog {
  /** A description of the database. */
  readonly description: string;
  /** Whether it has a feed of changes; resolves to true while this is unknown. */
  readonly hasFeed: () => Promise<boolean>;
  /**
   * Rejects with the remedy while plants cannot be stored. Otherwise, resolves to a description of what does not work, or to
   * undefined.
   */
  readonly ready: () => Promise<string | undefined>;
  /** The positions of the configured endpoints in the feed. */
  readonly positions: KeepPositions;
  readonly endpointStates: () => Promise<readonly EndpointState[]>;
  /** Connections to the database, by state. */
  readonly connections: () => Readonly<Record<string, number>>;
  close(): Promise<void>;
}

/** What a store needs beside its database. */
export interface StoreOptions {
  /** Milliseconds for which a request may wait for the store. */
  readonly timeout: number;
  /** The names of the webhooks' endpoints. */
  readonly endpoints: readonly string[];
  readonly log: Logger;
  /** Called with the number of plants in each INSERT. */
  readonly onInsert: (plants: number) => void;
}
