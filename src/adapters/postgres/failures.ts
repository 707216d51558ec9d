import { PlantStoreError } from '../../domain/errors.ts';
import type { Failure } from '../sql/dialect.ts';
import { FULL_DISK } from '../sql/recent-failure.ts';

/** The database is not set up as this code needs it; the message says what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

/** A connection could not be opened, so that no statement was sent. Postgres's own reason is its cause. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(cause: unknown) {
    // Node.js throws an error without a message if a host has several addresses and none responds.
    const errors = cause instanceof AggregateError && cause.message === '' ? cause.errors : [cause];
    super(errors.map((error) => (error instanceof Error ? error.message : String(error))).join(', '), { cause });
  }
}

/** A statement may have succeeded, or may still run. */
export class UnknownOutcomeError extends Error {
  override readonly name = 'UnknownOutcomeError';
  readonly reason: UnknownOutcomeReason;

  constructor(reason: UnknownOutcomeReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/**
 * - `lost_connection`: the connection was lost while the statement ran.
 * - `no_response`: there was no response in time, and the connection was closed.
 * - `unconfirmed`: the commit may not be on the synchronous standby, for which a retry waits. The connection is intact.
 */
type UnknownOutcomeReason = 'lost_connection' | 'no_response' | 'unconfirmed';

/** By SQLSTATE (PostgreSQL's appendix A). */
const STATES = {
  /**
   * Connection lost, resources, operator intervention, system error; read-only, or in recovery (a demoted primary);
   * serialization failure, deadlock; the server's limit for statements; internal errors.
   */
  transient: /^(08|53|57P|58|25006|55000|40001|40P01|57014|XX000)/,
  statementTimeout: /^57014/,
  /** The server's limits for locks and transactions. */
  lockTimeout: /^(55P03|25P04)/,
  /** A standby, or a demoted primary: it writes nothing, and has no position in the WAL of its own. */
  readOnly: /^(25006|55000)/,
  /** The server has also closed the connection, or Citus has lost that to one of its nodes, which it calls an internal error. */
  closed: /^(57P|25P04|XX000)/,
  /** Or a connection was lost behind a pooler or Citus, perhaps after the commit. */
  outcomeUnknown: /^(08|57P|25P04|XX000)/,
  /** The same for one node of Citus. */
  lostNode: /^(08006|XX000)/,
  /** No prepared statement has the name, or one has it already, behind a pooler. */
  preparedElsewhere: /^(26000|42P05)/,
  /** No such table, column, database or role, a wrong password, no privilege: only an operator can help. */
  notSetUp: /^(42P01|42703|42501|3D|28)/,
};

/** The functions of Postgres that throw some errors. Their names are never translated, as messages may be. */
const ROUTINES = {
  /** RAISE of PL/pgSQL. */
  raises: 'exec_stmt_raise',
  /** A plan is out of date, since an operator has changed the type of a column. */
  checksPlan: 'RevalidateCachedQuery',
  /** Their internal errors are a used-up quota (EDQUOT) or a limit of the size of files (EFBIG). */
  writesTables: /^md(extend|zeroextend|write|writev)$/,
  /** It assigns transaction ids, and refuses to before they wrap around (SQLSTATE 54000). */
  assignsIds: 'GetNewTransactionId',
};

/** The SQLSTATE that Postgres should give. Only its own errors have a severity; `code` may also be a system error's (EPIPE). */
function stateOf(code = '', routine = ''): string {
  // A trigger may raise any SQLSTATE for a row, which says nothing of the server.
  if (routine === ROUTINES.raises) return 'P0001';
  return ROUTINES.writesTables.test(routine) && code === 'XX000' ? '53100' : code;
}

/** What an error of a statement, or of connecting, says. */
export function failureOf(error: unknown) {
  const own = error instanceof ConnectionError ? error.cause : error;
  const { severity, code, routine } = own as { severity?: string; code?: string; routine?: string };
  const state = severity === undefined ? undefined : stateOf(code, routine);
  const is = (kind: keyof typeof STATES) => STATES[kind].test(state ?? '');
  const isUnknown = (...reasons: readonly UnknownOutcomeReason[]) =>
    error instanceof UnknownOutcomeError && reasons.includes(error.reason);

  const isDiskFull = state === '53100';
  const isPreparedElsewhere = is('preparedElsewhere') || routine === ROUTINES.checksPlan;

  function meaning(): Failure['means'] {
    if (error instanceof SchemaError || error instanceof PlantStoreError) return 'unavailable';
    if (error instanceof UnknownOutcomeError) return 'transient';
    if (is('notSetUp') || routine === ROUTINES.assignsIds || isDiskFull) return 'unavailable';
    // Whatever a server or a pooler says before there is a statement, no statement is at fault.
    if (isPreparedElsewhere || error instanceof ConnectionError || is('transient')) return 'transient';
    if (is('lockTimeout')) return 'blocked';
    return state === undefined ? 'defect' : 'refused';
  }
  const means = meaning();

  return {
    means,
    /** The SQLSTATE, and the function of Postgres, if the error is one of Postgres. */
    state,
    routine: state === undefined ? undefined : routine,
    isOutcomeUnknown:
      !(error instanceof ConnectionError) && (error instanceof UnknownOutcomeError || is('outcomeUnknown')),
    /**
     * Or those of one node of Citus. A trigger or an index of an operator can refuse a row with any SQLSTATE. Without the
     * server's own limits a locked row shows only as a statement without a response.
     */
    mayBeOneRowsFault: ['blocked', 'refused', 'defect'].includes(means) || isUnknown('no_response') || is('lostNode'),
    isStatementTimeout: is('statementTimeout'),
    /** Whether the connection is closed, in an unknown state, or will keep failing the same way. */
    breaksConnection:
      !isUnknown('unconfirmed') && (state === undefined || is('readOnly') || is('closed') || isPreparedElsewhere),
    /** Whether a prepared statement could not be used on the connection. It was not done, and is prepared anew on another. */
    isPreparedElsewhere,
    /** Whether connections opened before the statement are probably dead, too, or lead to the wrong server. */
    invalidatesOlderConnections: isUnknown('lost_connection', 'no_response') || is('readOnly'),
    isDiskFull,
    /** What is wrong, in words, that no check of the database would show. */
    problem: isDiskFull ? FULL_DISK : undefined,
  };
}

/** Whether plants can be written and read, but not announced until an operator adds a right, a table or a log of changes. */
export function needsOperator(error: unknown): boolean {
  if (error instanceof PlantStoreError) return error.code === 'changes_unavailable';
  return error instanceof SchemaError || ['42P01', '42501'].includes(failureOf(error).state ?? '');
}
