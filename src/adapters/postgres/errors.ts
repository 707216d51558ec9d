import { PlantStoreError } from '../../domain/errors.ts';

/** What a failure of the database means for the caller. */
type FailureClass =
  /** It may succeed in a moment or on another connection; the outcome is unknown until then. */
  | 'transient'
  /** One of the statement's rows is refused, is dropped, or waits too long for a lock. */
  | 'rows_fault'
  /** Retrying soon would not help: the deadline has passed, or the schema is not ready. */
  | 'unavailable'
  | 'defect';

/** The database is not set up as this code needs it; the message says what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/** A call that has timed out; if its statement was running, the outcome is unknown. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** A connection could not be opened, was lost or was closed: a retry determines the outcome of its statement. */
class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';
}

/** A statement got no response in time, and its connection was closed. */
export class NoResponseError extends ConnectionError {
  override readonly name = 'NoResponseError';
}

/** A commit may not be on the synchronous standby: a retry waits for that. The connection is intact. */
export class UnconfirmedError extends Error {
  override readonly name = 'UnconfirmedError';
}

/** Citus may have lost its connection to a node: a retry determines the outcome. That to Citus itself is intact. */
export class LostNodeError extends Error {
  override readonly name = 'LostNodeError';
}

/** The row neither existed nor was stored: something in the database dropped it, or it was deleted concurrently. */
export class MissingRowError extends Error {
  override readonly name = 'MissingRowError';
}

/*
 * By SQLSTATE (PostgreSQL's appendix A). Transient: connection lost, resources, operator intervention, system error;
 * read-only, or in recovery (a demoted primary); serialization failure, deadlock.
 */
const TRANSIENT = /^(08|53|57P|58|25006|55000|40001|40P01)/;
const REFUSED_VALUE = /^(22|23)/;
/** The server's limits for statements, locks and transactions. */
const SERVER_TIMEOUT = /^(57014|55P03|25P04)/;
/** A standby, or a demoted primary: it writes nothing, and has no position in the WAL of its own. */
const READ_ONLY = /^(25006|55000)/;
/** The server has also closed the connection. */
const CLOSED = /^(57P|25P04)/;
export const UNDEFINED_TABLE = '42P01';
const PROTOCOL_VIOLATION = '08P01';
/** From a server: of its own connection to another one. */
const CONNECTION_FAILURE = '08006';
/** No such table, column, database or role, a wrong password, no privilege: an operator has to act, so retrying is useless. */
const NOT_SET_UP = /^(42P01|42703|42501|3D|28)/;

const NOT_RETRYABLE = [DeadlineError, SchemaError, PlantStoreError];
const INTACT = [UnconfirmedError, LostNodeError];
const RETRYABLE = [ConnectionError, ...INTACT];

export function classify(error: unknown): FailureClass {
  if (NOT_RETRYABLE.some((kind) => error instanceof kind)) return 'unavailable';
  if (RETRYABLE.some((kind) => error instanceof kind)) return 'transient';
  if (error instanceof MissingRowError) return 'rows_fault';
  const state = sqlState(error);
  if (state === undefined) return 'defect';
  if (TRANSIENT.test(state)) return 'transient';
  if (SERVER_TIMEOUT.test(state) || REFUSED_VALUE.test(state)) return 'rows_fault';
  return NOT_SET_UP.test(state) ? 'unavailable' : 'defect';
}

/** Whether a batch failed in a way that may concern only some of its rows, so that each should be retried alone. */
export function shouldRetryAlone(error: unknown): boolean {
  // Without the server's own limits a locked row shows only as a statement without a response.
  return error instanceof NoResponseError || classify(error) === 'rows_fault' || isLostNode(error);
}

/** Whether a node of Citus could not be reached, so that the rows of other nodes could be. */
export function isLostNode(error: unknown): boolean {
  return error instanceof LostNodeError || sqlState(error) === CONNECTION_FAILURE;
}

/** Translates a failure of the database into the rejection that the port promises. */
export function translated(error: unknown): unknown {
  if (error instanceof PlantStoreError) return error;
  const known = classify(error) !== 'defect' && !REFUSED_VALUE.test(sqlState(error) ?? '');
  return known ? unavailable(error) : error;
}

function unavailable(cause: unknown): PlantStoreError {
  const message = 'the store is unavailable; sending the same request again is safe';
  return new PlantStoreError('store_unavailable', message, { cause });
}

/** Whether the connection with this error is closed, in an unknown state, or will keep failing the same way. */
export function breaksConnection(error: unknown): boolean {
  if (INTACT.some((kind) => error instanceof kind)) return false;
  const state = sqlState(error);
  return state === undefined || READ_ONLY.test(state) || CLOSED.test(state);
}

/** Whether this error suggests that connections opened before it are dead, too, or lead to the wrong server. */
export function invalidatesOlderConnections(error: unknown): boolean {
  return error instanceof ConnectionError || READ_ONLY.test(sqlState(error) ?? '');
}

/** Whether PgBouncer refused a start-up parameter; it uses this SQLSTATE for other errors, too. */
export function refusesParameters(error: unknown): boolean {
  return sqlState(error) === PROTOCOL_VIOLATION && (error as Error).message.includes('startup parameter');
}

/** The error of a connection that could not be opened or was lost; returns Postgres's own errors unchanged. */
export function connectionError(cause: unknown): unknown {
  if (sqlState(cause) !== undefined) return cause;
  // Node.js throws one without a message if a host has several addresses and none responds.
  const errors = cause instanceof AggregateError && cause.message === '' ? cause.errors : [cause];
  const message = errors.map((error) => (error instanceof Error ? error.message : String(error))).join(', ');
  return new ConnectionError(message, { cause });
}

/** Only Postgres's own errors, in pg and PGlite alike, have a severity; `code` may also be a system error's (EPIPE). */
export function sqlState(error: unknown): string | undefined {
  const { severity, code } = error as { severity?: string; code?: string };
  return severity === undefined ? undefined : code;
}
