import type { Position } from './changes/ports.ts';
import type { EndpointState } from './webhooks/ports.ts';

/** What an operator's commands do to a store, beside the service. What opens the store puts failures into words. */
export interface Maintenance {
  /**
   * Forgets deleted plants, the only way to free ids. It can be interrupted and run again.
   *
   * @param isDryRun whether they are only counted
   * @returns the number of plants in each part of the ids
   */
  purge(selection: PurgeSelection, isDryRun: boolean): AsyncIterable<number>;
  readonly webhooks: WebhookEndpoints;
  /** Describes what has long held back webhooks; undefined if nothing has. It may take seconds to determine that. */
  heldBack(): Promise<string | undefined>;
  /** Invalidates all positions in the log of changes, after a restore that the service cannot detect. */
  renewLog(): Promise<void>;
}

/** Which deleted plants to forget. */
export interface PurgeSelection {
  /** Seconds since their deletion, at least. */
  readonly minAge: number;
  /** Only the plant with this id, if it is given. */
  readonly id: bigint | undefined;
}

/** After a change, the delivery to the endpoint starts anew. */
export interface WebhookEndpoints {
  /** All endpoints, in the order of their names. */
  states(): Promise<KnownEndpoint[]>;
  /** Continues at its position. @returns false if that belongs to another table, or there is no such endpoint */
  resume(endpoint: string): Promise<boolean>;
  /** Continues after a row. @returns whether the row is the failing one, or was skipped before */
  skip(endpoint: string, failing: Position): Promise<boolean>;
  /** Starts before the first plant. @returns whether there is such an endpoint */
  rewind(endpoint: string): Promise<boolean>;
}

/** The most rows that are counted, since each is read. */
export const BACKLOG_ROWS_MAX = 1_000;

/** An endpoint, and the progress of its delivery. */
export interface KnownEndpoint extends EndpointState {
  /** Rows between its position and the end of the feed, BACKLOG_ROWS_MAX at most. */
  readonly backlog: number;
  /** Whether an instance delivers to it now. */
  readonly isLeased: boolean;
  readonly failures: number;
  /** Why the last attempt failed, if it did. */
  readonly reason: string | undefined;
  /** The first row that the last attempt did not deliver. */
  readonly failing: Position | undefined;
  /** Seconds until the next attempt; 0 if none is scheduled. */
  readonly retryIn: number;
}
