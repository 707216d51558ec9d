import { PlantStoreError } from '../../domain/errors.ts';
import type { StatementFailure } from '../sql/dialect.ts';
import { FULL_DISK } from '../sql/recent-failure.ts';

/** The database lacks the setup that this code needs; the message says what to do. */
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
  /** The server has also closed the connection, or Citus has lost one to a node, which it reports as an internal error. */
  closed: /^(57P|25P04|XX000)/,
  /** The same, or a connection behind a pooler or Citus was lost, perhaps after the commit. */
  outcomeUnknown: /^(08|57P|25P04|XX000)/,
  /** A connection to one node of Citus was lost. */
  lostNode: /^(08006|XX000)/,
  /** Behind a pooler, a prepared statement is missing, or its name is taken. */
  preparedElsewhere: /^(26000|42P05)/,
  /** No such table, column, database or role, a wrong password, no privilege: only an operator can help. */
  notSetUp: /^(42P01|42703|42501|3D|28)/,
};

/** The functions of Postgres that throw some errors. Their names are never translated, as messages may be. */
const ROUTINES = {
  /** RAISE of PL/pgSQL. */
  raises: 'exec_stmt_raise',
  /** A plan is out of date, since an operator changed the type of a column. */
  checksPlan: 'RevalidateCachedQuery',
  /** Functions whose internal errors are a used-up quota (EDQUOT) or a limit on the size of files (EFBIG). */
  writesTables: /^md(extend|zeroextend|write|writev)$/,
  /** Assigns transaction ids, and refuses to before they wrap around (SQLSTATE 54000). */
  assignsIds: 'GetNewTransactionId',
};

/** The SQLSTATE that Postgres should give. Only its own errors have a severity; `code` may also be a system error's (EPIPE). */
function stateOf(code = '', routine = ''): string {
  // A trigger may raise any SQLSTATE for a row, which tells nothing about the server.
  if (routine === ROUTINES.raises) return 'P0001';
  return ROUTINES.writesTables.test(routine) && code === 'XX000' ? '53100' : code;
}

/** Classifies an error of a statement, or of connecting. */
export function failureOf(error: unknown) {
  const cause = error instanceof ConnectionError ? error.cause : error;
  const { severity, code, routine } = cause as { severity?: string; code?: string; routine?: string };
  const state = severity === undefined ? undefined : stateOf(code, routine);
  const is = (kind: keyof typeof STATES) => STATES[kind].test(state ?? '');
  const isUnknown = (...reasons: readonly UnknownOutcomeReason[]) =>
    error instanceof UnknownOutcomeError && reasons.includes(error.reason);

  const isDiskFull = state === '53100';
  const isPreparedElsewhere = is('preparedElsewhere') || routine === ROUTINES.checksPlan;

  function meaning(): StatementFailure['means'] {
    if (error instanceof SchemaError || error instanceof PlantStoreError) return 'unavailable';
    if (error instanceof UnknownOutcomeError) return 'transient';
    if (is('notSetUp') || routine === ROUTINES.assignsIds || isDiskFull) return 'unavailable';
    // Before a connection is open, no statement is at fault, whatever a server or a pooler reports.
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
     * The rows of one node of Citus count as one. A trigger or an index of an operator can refuse a row with any SQLSTATE.
     * Without the limits of the server, a locked row is only visible as a statement without a response.
     */
    mayBeOneRowsFault: ['blocked', 'refused', 'defect'].includes(means) || isUnknown('no_response') || is('lostNode'),
    isStatementTimeout: is('statementTimeout'),
    /** Whether the connection is closed, in an unknown state, or will keep failing the same way. */
    breaksConnection:
      !isUnknown('unconfirmed') && (state === undefined || is('readOnly') || is('closed') || isPreparedElsewhere),
    /** Whether the connection could not use a prepared statement, which was not run and is prepared again on another. */
    isPreparedElsewhere,
    /** Whether older connections are probably dead, too, or lead to the wrong server. */
    invalidatesOlderConnections: isUnknown('lost_connection', 'no_response') || is('readOnly'),
    isDiskFull,
    /** A problem, in words, that no check of the database would show. */
    problem: isDiskFull ? FULL_DISK : undefined,
  };
}

/** Whether plants can be written and read, but an operator must add a right, a table or a log of changes to announce them. */
export function needsOperator(error: unknown): boolean {
  if (error instanceof PlantStoreError) return error.code === 'changes_unavailable';
  return error instanceof SchemaError || ['42P01', '42501'].includes(failureOf(error).state ?? '');
}
