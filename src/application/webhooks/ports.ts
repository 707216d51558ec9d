/** A place in the feed of changes: just after the row that this transaction wrote, with this id. */
export interface Position {
  readonly changed: bigint;
  readonly id: bigint;
}

/** A row of the feed, which goes on after it. */
export interface Entry extends Position {
  /** The plant as JSON, as `GET /plants/{id}` gives it; undefined for a deletion, which no webhook announces. */
  readonly record: string | undefined;
}

export interface ReadEntries {
  /**
   * Reads the newest states of the plants that have changed after a position, in the order of the feed: some hundreds,
   * of about a mebibyte of text, each plant once. Only what no earlier transaction can precede any more.
   *
   * @returns them and the epoch of their positions
   *
   * MUST reject with PlantStoreError `store_unavailable` if the store cannot respond now.
   */
  readEntries(after: Position): Promise<{ readonly epoch: string; readonly entries: readonly Entry[] }>;
}

/** The right to deliver to an endpoint, for a time, and what is known of it. */
export interface Lease {
  readonly endpoint: string;
  /** Unlike that of any other lease. */
  readonly holder: string;
  /** What comes after it has to be delivered. */
  readonly position: Position;
  /** Attempts that have failed one after another without any progress. */
  readonly failures: number;
  /** Milliseconds since the first of them. */
  readonly failingFor: number;
}

/** An attempt has failed. */
export interface Setback {
  /** The first row that was not acknowledged. */
  readonly failing: Position;
  readonly reason: string;
  /** How many have failed one after another, with this one. */
  readonly failures: number;
  /** Milliseconds until the next attempt. */
  readonly retryIn: number;
  /** Whether there is none until somebody resumes the endpoint. */
  readonly isParked: boolean;
}

/** Keeps the position of each endpoint. Each method MUST reject as ReadEntries does. */
export interface KeepPositions {
  /**
   * Resolves to undefined while another one has the lease, until the next attempt is due, and if it is parked. An
   * endpoint that is not known begins at the end of the feed. MUST reject with PlantStoreError `changes_unavailable` if
   * there is no feed.
   */
  take(endpoint: string, milliseconds: number): Promise<Lease | undefined>;
  /** Resolves to whether the lease still held; it holds for so many milliseconds then. */
  renew(lease: Lease, milliseconds: number): Promise<boolean>;
  /** Everything up to the position is acknowledged. Resolves to whether the lease still held; otherwise nothing changes. */
  advance(lease: Lease, position: Position): Promise<boolean>;
  /** Notes a failed attempt and ends the lease; nothing changes if it did not hold. */
  fail(lease: Lease, setback: Setback): Promise<void>;
  /** Ends the lease. */
  release(lease: Lease): Promise<void>;
}

/** A plant to announce. */
export interface Message extends Position {
  readonly epoch: string;
  readonly record: string;
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
  failed(endpoint: string, setback: Setback): void;
  /** Neither position nor plants can be read or written now. */
  interrupted(endpoint: string, error: unknown): void;
}

/** How an endpoint is doing, for operators. */
export interface EndpointState {
  readonly endpoint: string;
  readonly position: Position;
  /** The last row of the feed. */
  readonly end: Position;
  /** Rows between both, as far as they are counted. */
  readonly behind: number;
  readonly isParked: boolean;
}
