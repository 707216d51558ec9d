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
 * - `lost_node`: Citus may have lost its connection to a node. The connection to Citus itself is intact.
 */
type UnknownOutcomeReason = 'lost_connection' | 'no_response' | 'unconfirmed' | 'lost_node';

export const UNDEFINED_TABLE = '42P01';
/** Postgres's own for an internal error; Citus's also for a connection to one of its nodes that broke. */
export const INTERNAL_ERROR = 'XX000';

/** Only Postgres's own errors have a severity; `code` may also be a system error's (EPIPE). */
export function sqlState(error: unknown): string | undefined {
  const { severity, code } = (error instanceof ConnectionError ? error.cause : error) as {
    severity?: string;
    code?: string;
  };
  return severity === undefined ? undefined : code;
}
