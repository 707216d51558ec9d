import { PlantStoreError, storeUnavailable } from '../../domain/errors.ts';
import { FULL_DISK } from '../feed/recent-failure.ts';
import { ConnectionError, INTERNAL_ERROR, SchemaError, sqlState, UnknownOutcomeError } from './errors.ts';

/** What a failure of the database means for the caller. */
type FailureClass =
  /** It may succeed in a moment or on another connection; `isOutcomeUnknown` says whether it may have been done. */
  | 'transient'
  /** One of the statement's rows is locked for too long. */
  | 'blocked'
  /** Postgres refuses one of the statement's rows, or the statement. */
  | 'refused'
  /** Retrying soon would not help: the deadline has passed, the schema is not ready, or there is no room. */
  | 'unavailable'
  | 'defect';

/*
 * By SQLSTATE (PostgreSQL's appendix A). Transient: connection lost, resources, operator intervention, system error;
 * read-only, or in recovery (a demoted primary); serialization failure, deadlock.
 */
const TRANSIENT = /^(08|53|57P|58|25006|55000|40001|40P01)/;
/** The server's limit for statements. */
const STATEMENT_TIMEOUT = '57014';
/** The server's limits for locks and transactions. */
const LOCK_TIMEOUT = /^(55P03|25P04)/;
/** A standby, or a demoted primary: it writes nothing, and has no position in the WAL of its own. */
const READ_ONLY = /^(25006|55000)/;
/** The server has also closed the connection. */
const CLOSED = /^(57P|25P04)/;
/** A connection was lost behind a pooler or Citus, or was closed by the server, perhaps after the commit. */
const OUTCOME_UNKNOWN = /^(08|57P|25P04)/;
/**
 * No prepared statement has the name, or one has it already, behind a pooler; or, of this function of Postgres, a plan is out of
 * date, since an operator has changed the type of a column.
 */
const PREPARED_ELSEWHERE = /^(26000|42P05)/;
const CHECKS_PLAN = 'RevalidateCachedQuery';
/** No such table, column, database or role, a wrong password, no privilege: only an operator can help. */
const NOT_SET_UP = /^(42P01|42703|42501|3D|28)/;
/** The functions of Postgres whose internal errors are a used-up quota (EDQUOT) or a limit of the size of files (EFBIG). */
const WRITES_TABLES = /^md(extend|zeroextend|write|writev)$/;

/** The function of Postgres that assigns transaction ids; it refuses to before they wrap around (SQLSTATE 54000). */
const ASSIGNS_IDS = 'GetNewTransactionId';

export function classify(error: unknown): FailureClass {
  if (error instanceof SchemaError || error instanceof PlantStoreError) return 'unavailable';
  if (error instanceof UnknownOutcomeError) return 'transient';
  const state = sqlState(error) ?? '';
  if (NOT_SET_UP.test(state) || routineOf(error) === ASSIGNS_IDS || isDiskFull(error)) return 'unavailable';
  if (isPreparedElsewhere(error)) return 'transient';
  // Whatever a server or a pooler says before there is a statement, no statement is at fault.
  if (error instanceof ConnectionError || TRANSIENT.test(state) || state === STATEMENT_TIMEOUT) return 'transient';
  if (LOCK_TIMEOUT.test(state)) return 'blocked';
  return state === '' ? 'defect' : 'refused';
}

/** Whether a statement that failed so may have succeeded nevertheless, or may still do so. All others have not. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof ConnectionError) return false;
  return error instanceof UnknownOutcomeError || OUTCOME_UNKNOWN.test(sqlState(error) ?? '');
}

/**
 * Whether a batch failed in a way that may concern only some of its rows, so that it should be repeated in parts. A trigger
 * or an index of an operator can refuse a row with any SQLSTATE.
 */
export function mayBeAnothers(error: unknown): boolean {
  // Without the server's own limits a locked row shows only as a statement without a response.
  return (
    isUnknown(error, 'no_response') || ['blocked', 'refused', 'defect'].includes(classify(error)) || isLostNode(error)
  );
}

export function isStatementTimeout(error: unknown): boolean {
  return sqlState(error) === STATEMENT_TIMEOUT;
}

/** Whether a node of Citus did not respond, so that the rows of other nodes can be used. */
function isLostNode(error: unknown): boolean {
  return isUnknown(error, 'lost_node') || sqlState(error) === '08006';
}

/** Whether the connection with this error is closed, in an unknown state, or will keep failing the same way. */
export function breaksConnection(error: unknown): boolean {
  if (isUnknown(error, 'unconfirmed', 'lost_node')) return false;
  const state = sqlState(error);
  return state === undefined || READ_ONLY.test(state) || CLOSED.test(state) || isPreparedElsewhere(error);
}

/** Whether a prepared statement could not be used on this connection. It was not done, and is prepared anew on another. */
export function isPreparedElsewhere(error: unknown): boolean {
  return PREPARED_ELSEWHERE.test(sqlState(error) ?? '') || routineOf(error) === CHECKS_PLAN;
}

/** Whether this error suggests that connections opened before it are dead, too, or lead to the wrong server. */
export function invalidatesOlderConnections(error: unknown): boolean {
  return isUnknown(error, 'lost_connection', 'no_response') || READ_ONLY.test(sqlState(error) ?? '');
}

/** Whether Postgres has found no room on its disk. */
function isDiskFull(error: unknown): boolean {
  const state = sqlState(error);
  return state === '53100' || (state === INTERNAL_ERROR && WRITES_TABLES.test(routineOf(error) ?? ''));
}

/** What is wrong, in words, that no check of the database would show. */
export function problemOf(error: unknown): string | undefined {
  return isDiskFull(error) ? FULL_DISK : undefined;
}

/** The function of Postgres that has thrown the error. Its name is never translated, as the message may be. */
export function routineOf(error: unknown): string | undefined {
  return sqlState(error) === undefined ? undefined : (error as { routine?: string }).routine;
}

function isUnknown(error: unknown, ...reasons: readonly UnknownOutcomeError['reason'][]): boolean {
  return error instanceof UnknownOutcomeError && reasons.includes(error.reason);
}

/** Translates a failure of the database into the rejection that the port promises. */
export function toPortError(error: unknown): unknown {
  if (error instanceof PlantStoreError) return error;
  if (['defect', 'refused'].includes(classify(error))) return error;
  const why = isDiskFull(error) ? 'has no room left, so its operators must make some' : 'is unavailable';
  return storeUnavailable(`the store ${why}`, { cause: error });
}

/** The rejection that the port promises, for a reason that is no error of the database's. */
export function unavailable(reason: string): PlantStoreError {
  return storeUnavailable('the store is unavailable', { cause: new Error(reason) });
}
