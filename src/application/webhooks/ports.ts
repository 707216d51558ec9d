import type { NewPlant } from '../../domain/plant.ts';
import type { Position } from '../ports.ts';

/** A row of the feed, which goes on after it. */
export interface Entry extends Position {
  /** The newest state of a plant. No webhook announces a deletion. */
  readonly stored: NewPlant | 'deleted';
}

/** Each method MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now. */
export interface ReadEntries {
  /**
   * Reads the newest states of the plants that have changed after a position, in the order of the feed: some hundreds,
   * each plant once. Only what no earlier transaction can precede any more.
   *
   * @returns them and the epoch of their positions
   */
  readEntries(after: Position): Promise<{ readonly epoch: string; readonly entries: readonly Entry[] }>;
  /** Resolves once there may be entries after a position, a minute later at the latest, or at the signal. */
  awaitEntries(after: Position, signal: AbortSignal): Promise<void>;
}

/** The right to deliver to an endpoint, for a time, and what is known of it. */
export interface Lease {
  readonly endpoint: string;
  /** Unlike that of any other lease. */
  readonly holder: string;
  /** The feed after this position remains to be delivered. */
  readonly position: Position;
  /** Attempts that have failed in a row, without any progress. */
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly failingFor: number;
}

export interface FailedAttempt {
  /** The first row that was not acknowledged. */
  readonly failing: Position;
  readonly reason: string;
  /** How many have failed in a row, including this. */
  readonly failures: number;
  /** Milliseconds until the next attempt. */
  readonly retryIn: number;
  /** Whether no further attempt is made until an operator resumes the endpoint. */
  readonly isParked: boolean;
}

/**
 * What has become of the lease of an endpoint: it is taken now, since it was free and due, or the store was set back; it goes
 * on; somebody else has it, or nobody; or nothing is known of the endpoint any more.
 */
export type LeaseOutcome = Lease | 'renewed' | 'lost' | 'missing';

/** Keeps the position of each endpoint. Each method MUST reject as ReadEntries does. */
export interface KeepPositions {
  /**
   * Takes and renews the leases of all endpoints, for so many milliseconds. A lease that is in use for a moment may have
   * no outcome, and holds as before. An endpoint that was never known begins at the end of the feed.
   *
   * @param held the leases that go on. One whose position is behind that of the lease, since the store was set back, does
   * not: it is taken anew, at that position
   */
  take(held: readonly Lease[], milliseconds: number): Promise<ReadonlyMap<string, LeaseOutcome>>;
  /**
   * Everything up to the position is acknowledged. Resolves to whether the lease was still the same, at its position;
   * otherwise nothing changes.
   */
  advance(lease: Lease, position: Position): Promise<boolean>;
  /** Notes a failed attempt and ends the lease. Does nothing if another lease has replaced this one. */
  fail(lease: Lease, attempt: FailedAttempt): Promise<void>;
  /** Ends leases. */
  release(held: readonly Lease[]): Promise<void>;
}

/** A plant to announce. */
export interface Message extends Position {
  readonly epoch: string;
  readonly plant: NewPlant;
}

/** Why a message was not acknowledged. */
export interface Failure {
  readonly reason: string;
  /** Whether the endpoint wants no more at all. */
  readonly isGone?: boolean;
  /** Milliseconds for which it asks to be left alone. */
  readonly retryAfter?: number;
}

/** Sends a message, within a bounded time. Resolves to undefined once it is acknowledged; MUST NOT reject. */
export type Send = (endpoint: string, message: Message) => Promise<Failure | undefined>;

/** Learns what happens, for logs and metrics. */
export interface DeliveryObserver {
  /** So many plants were acknowledged. */
  delivered(endpoint: string, plants: number): void;
  failed(endpoint: string, attempt: FailedAttempt): void;
  /** Neither positions nor plants can be read or written now. */
  interrupted(error: unknown): void;
  /** Nothing is known of the endpoint any more, so that it gets nothing until somebody acts. */
  missing(endpoint: string): void;
}

/** How an endpoint is doing, for operators. */
export interface EndpointState {
  readonly endpoint: string;
  readonly position: Position;
  /** The last row of the feed. */
  readonly end: Position;
  readonly isParked: boolean;
}
