import { PlantStoreError } from '../../domain/errors.ts';
import { DeadlineError } from './batcher.ts';

/** What a failure of the database means to those who asked. */
type Meaning =
  /** It cannot do it now, but might in a moment or on another connection; the outcome is unknown until then. */
  | 'transient'
  /** One of the statement's rows is refused, or waits too long for a lock. */
  | 'rows_fault'
  /** Nothing to try again for soon: the deadline passed, or the schema is not there yet. */
  | 'unavailable'
  | 'defect';

/** The database is not as this code needs it; its message says what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/*
 * By SQLSTATE (PostgreSQL's appendix A). Transient: connection lost, resources, operator intervention, system error;
 * read-only (a primary that was demoted); serialization failure, deadlock.
 */
const TRANSIENT = /^(08|53|57P|58|25006|40001|40P01)/;
const REFUSED_VALUE = /^(22|23)/;
/** By this side's time-out for statements, or by the role's for statements or locks. */
const OUTLASTED_ITS_TIME = /^(57014|55P03)/;
const READ_ONLY = '25006';
export const UNDEFINED_TABLE = '42P01';
/** No such table, database or role, a wrong password, no right: an operator's work, so trying again soon is no use. */
const NOT_SET_UP = /^(42P01|42501|3D|28)/;

const NO_USE_TO_TRY = [DeadlineError, SchemaError, PlantStoreError];

/** What JavaScript throws at a programmer's mistake. */
const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError];

export function meaningOf(error: unknown): Meaning {
  if (NO_USE_TO_TRY.some((kind) => error instanceof kind)) return 'unavailable';
  if (MISTAKES.some((mistake) => error instanceof mistake)) return 'defect';
  const state = sqlState(error);
  // Lost connections and time-outs come from the driver, as plain errors and as the system's.
  if (state === undefined || TRANSIENT.test(state)) return 'transient';
  if (OUTLASTED_ITS_TIME.test(state) || REFUSED_VALUE.test(state)) return 'rows_fault';
  return NOT_SET_UP.test(state) ? 'unavailable' : 'defect';
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

/** Whether the connection that gave this error is in an unknown state, or will give it for ever. */
export function spoilsConnection(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || state === READ_ONLY;
}

/** Only Postgres's own errors, of pg and PGlite alike, have a severity; `code` alone may be the system's, like EPIPE. */
export function sqlState(error: unknown): string | undefined {
  const { severity, code } = error as { severity?: string; code?: string };
  return severity === undefined ? undefined : code;
}
