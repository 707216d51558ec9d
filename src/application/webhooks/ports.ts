import type { NewPlant } from '../../domain/plant.ts';
import type { Position, Progress } from '../changes/ports.ts';

/** The temporary right to deliver to an endpoint, and the progress of that. */
export interface Lease {
  readonly endpoint: string;
  /** Unique to this lease. */
  readonly holder: string;
  /** The feed after this position remains to be delivered. */
  readonly position: Position;
  /** Consecutive attempts that have failed without any progress. */
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly failingFor: number;
}

export interface DeliveryFailure {
  /** The first row that was not acknowledged. */
  readonly failing: Position;
  readonly reason: string;
  /** Consecutive failures, including this one. */
  readonly failures: number;
  /** Milliseconds until the next attempt. */
  readonly retryIn: number;
  /** Whether no further attempt is made until an operator resumes the endpoint. */
  readonly isParked: boolean;
}

/**
 * The outcome for the lease of an endpoint: a new lease, since it was free and due, or the store was set back; `renewed`;
 * `lost`, if another instance or none has it.
 */
export type LeaseOutcome = Lease | 'renewed' | 'lost';

/** Keeps the position of each endpoint. Each method MUST reject with `store_unavailable` if the store cannot respond now. */
export interface KeepPositions {
  /**
   * Takes and renews the leases of all endpoints, for so many milliseconds. A lease that is in use for a moment may have no
   * outcome, and holds as before. A new endpoint begins at the end of the feed.
   *
   * @param leases those to renew. If the stored position is behind that of the lease, since the store was set back, the
   * lease is taken anew, at the stored position
   */
  take(leases: readonly Lease[], milliseconds: number): Promise<ReadonlyMap<string, LeaseOutcome>>;
  /**
   * Stores that everything up to the position is acknowledged. Resolves to false, and changes nothing, if the lease or its
   * position is not the stored one any more.
   */
  advance(lease: Lease, position: Position): Promise<boolean>;
  /** Records a failed attempt and ends the lease. Does nothing if another lease has replaced this one. */
  fail(lease: Lease, attempt: DeliveryFailure): Promise<void>;
  /** Ends leases. */
  release(leases: readonly Lease[]): Promise<void>;
}

/** A plant to announce. No deletion is announced. */
export interface Message extends Position {
  readonly epoch: string;
  readonly plant: NewPlant;
}

/** Why a message was not acknowledged. */
export interface SendError {
  readonly reason: string;
  /** Whether the endpoint refuses all further messages. */
  readonly isGone?: boolean;
  /** Milliseconds that the endpoint asks the sender to wait. */
  readonly retryAfter?: number;
}

/** Milliseconds that sending a message may take. */
export const SEND_MS_MAX = 16_000;

/** Sends a message, within SEND_MS_MAX. Resolves to undefined once it is acknowledged; MUST NOT reject. */
export type Send = (endpoint: string, message: Message) => Promise<SendError | undefined>;

/** Is notified of deliveries, for logs and metrics. */
export interface DeliveryObserver {
  /** The endpoint has acknowledged this many plants. */
  delivered(endpoint: string, plants: number): void;
  failed(endpoint: string, attempt: DeliveryFailure): void;
  /** Neither positions nor plants can be read or written now. */
  interrupted(error: unknown): void;
}

/** The state of the delivery to an endpoint, for operators. */
export interface EndpointState extends Progress {
  readonly isParked: boolean;
}
