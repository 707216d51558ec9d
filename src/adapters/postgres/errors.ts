import { PlantStoreError } from '../../domain/errors.ts';

/** What a failure of the database means to those who asked. */
type Meaning =
  /** It cannot do it now, but might in a moment or on another connection; the outcome is unknown until then. */
  | 'transient'
  /** One of the statement's rows is refused, is dropped, or waits too long for a lock. */
  | 'rows_fault'
  /** Nothing to try again for soon: the deadline passed, or the schema is not there yet. */
  | 'unavailable'
  | 'defect';

/** The database is not as this code needs it; its message says what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/** A call that its deadline overtook; what became of it is unknown if it was under way. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** A connection could not be made, was lost or was closed: trying again settles what became of its statement. */
class ConnectionError extends Error {
  override readonly name: string = 'ConnectionError';
}

/** A statement got no response in time, and its connection was closed. */
export class NoResponseError extends ConnectionError {
  override readonly name = 'NoResponseError';
}

/** A commit may not be on the synchronous standby: trying again waits for that. The connection is sound. */
export class UnconfirmedError extends Error {
  override readonly name = 'UnconfirmedError';
}

/** The row does not exist and was not stored: something in the database dropped it, or it was deleted at that moment. */
export class MissingRowError extends Error {
  override readonly name = 'MissingRowError';
}

/*
 * By SQLSTATE (PostgreSQL's appendix A). Transient: connection lost, resources, operator intervention, system error;
 * read-only (a primary that was demoted); serialization failure, deadlock.
 */
const TRANSIENT = /^(08|53|57P|58|25006|40001|40P01)/;
const REFUSED_VALUE = /^(22|23)/;
/** By the server's limits for statements, locks and transactions. */
const OUTLASTED_ITS_TIME = /^(57014|55P03|25P04)/;
const READ_ONLY = '25006';
/** The server has closed the connection as well. */
const CLOSED = /^(57P|25P04)/;
export const UNDEFINED_TABLE = '42P01';
const PROTOCOL_VIOLATION = '08P01';
/** No such table, database or role, a wrong password, no right: an operator's work, so trying again soon is no use. */
const NOT_SET_UP = /^(42P01|42501|3D|28)/;

const NO_USE_TO_TRY = [DeadlineError, SchemaError, PlantStoreError];
const WORTH_TRYING_AGAIN = [ConnectionError, UnconfirmedError];

export function meaningOf(error: unknown): Meaning {
  if (NO_USE_TO_TRY.some((kind) => error instanceof kind)) return 'unavailable';
  if (WORTH_TRYING_AGAIN.some((kind) => error instanceof kind)) return 'transient';
  if (error instanceof MissingRowError) return 'rows_fault';
  const state = sqlState(error);
  if (state === undefined) return 'defect';
  if (TRANSIENT.test(state)) return 'transient';
  if (OUTLASTED_ITS_TIME.test(state) || REFUSED_VALUE.test(state)) return 'rows_fault';
  return NOT_SET_UP.test(state) ? 'unavailable' : 'defect';
}

/** Whether a group failed in a way that need not concern all of its rows, so that each is worth trying alone. */
export function isWorthTryingAlone(error: unknown): boolean {
  // Without limits on the server's side a locked row shows only as a statement without a response.
  return error instanceof NoResponseError || meaningOf(error) === 'rows_fault';
}

/** The rejection that the port promises for a failure of the database. */
export function translated(error: unknown): unknown {
  if (error instanceof PlantStoreError) return error;
  const known = meaningOf(error) !== 'defect' && !REFUSED_VALUE.test(sqlState(error) ?? '');
  return known ? unavailable(error) : error;
}

function unavailable(cause: unknown): PlantStoreError {
  const message = 'the store is unavailable; sending the same request again is safe';
  return new PlantStoreError('store_unavailable', message, { cause });
}

/** Whether the connection that gave this error is closed or in an unknown state, or will give it for ever. */
export function spoilsConnection(error: unknown): boolean {
  if (error instanceof UnconfirmedError) return false;
  const state = sqlState(error);
  return state === undefined || state === READ_ONLY || CLOSED.test(state);
}

/** Whether this error makes it likely that connections opened before it lead nowhere, or to the wrong server. */
export function discreditsOthers(error: unknown): boolean {
  return error instanceof ConnectionError || sqlState(error) === READ_ONLY;
}

/** Whether it is PgBouncer's refusal of a start-up parameter, which gives this SQLSTATE for other reasons as well. */
export function refusesParameters(error: unknown): boolean {
  return sqlState(error) === PROTOCOL_VIOLATION && (error as Error).message.includes('startup parameter');
}

/** The error of a connection that could not be made or was lost; those of Postgres itself are returned as they are. */
export function connectionError(cause: unknown): unknown {
  if (sqlState(cause) !== undefined) return cause;
  // Node.js gives one without a message if a host has several addresses and none responds.
  const errors = cause instanceof AggregateError && cause.message === '' ? cause.errors : [cause];
  const message = errors.map((error) => (error instanceof Error ? error.message : String(error))).join(', ');
  return new ConnectionError(message, { cause });
}

/** Only Postgres's own errors, of pg and PGlite alike, have a severity; `code` alone may be the system's, like EPIPE. */
export function sqlState(error: unknown): string | undefined {
  const { severity, code } = error as { severity?: string; code?: string };
  return severity === undefined ? undefined : code;
}
