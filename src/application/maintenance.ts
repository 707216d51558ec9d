import type { Position } from './ports.ts';
import type { EndpointState } from './webhooks/ports.ts';

/** What an operator's commands do to a store, beside the service. Who opens the store puts its failures into words. */
export interface Maintenance {
  /**
   * Forgets deleted plants, the only way to free ids. It can be interrupted and run again.
   *
   * @param isDryRun whether they are only counted
   * @returns how many in each part of the ids
   */
  purge(selection: PurgeSelection, isDryRun: boolean): AsyncIterable<number>;
  readonly webhooks: WebhookEndpoints;
  /** What holds back what webhooks send, in words, if something has for long; it may take seconds to see that. */
  heldBack(): Promise<string | undefined>;
  /** Ends all positions in the log of changes, for restores that nothing shows. */
  renewLog(): Promise<void>;
}

/** Which deleted plants to forget. */
export interface PurgeSelection {
  /** Seconds since their deletion, at least. */
  readonly minAge: number;
  /** Only the plant with this id, if it is given. */
  readonly id: bigint | undefined;
}

/** After a change, whoever delivers to the endpoint begins anew. */
export interface WebhookEndpoints {
  /** In the order of their names. */
  states(): Promise<KnownEndpoint[]>;
  /** Goes on at its position. @returns false if that belongs to another table, or there is no such endpoint */
  resume(endpoint: string): Promise<boolean>;
  /** Goes on after a row. @returns whether it is the one that fails, or was skipped before */
  skip(endpoint: string, failing: Position): Promise<boolean>;
  /** Begins before all plants. @returns whether there is such an endpoint */
  rewind(endpoint: string): Promise<boolean>;
}

/** Rows that are counted at most, since each is read. */
export const MAX_COUNTED = 1_000;

/** What is known of an endpoint. */
export interface KnownEndpoint extends EndpointState {
  /** Rows between its position and the end of the feed, MAX_COUNTED at most. */
  readonly backlog: number;
  /** Whether an instance delivers to it now. */
  readonly isLeased: boolean;
  readonly failures: number;
  /** Why the last attempt failed, if it did. */
  readonly reason: string | undefined;
  /** The first row that was not acknowledged then. */
  readonly failing: Position | undefined;
  /** Seconds until the next attempt; 0 if none is waited for. */
  readonly retryIn: number;
}
