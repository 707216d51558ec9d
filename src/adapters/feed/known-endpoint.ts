import type { Position } from '../../application/ports.ts';
import type { EndpointState } from '../../application/webhooks/ports.ts';

/** Rows that are counted at most, since each is read. */
export const MAX_COUNTED = 1_000;

/** What is known of an endpoint; `backlog` is MAX_COUNTED at most. */
export interface KnownEndpoint extends EndpointState {
  /** Whether an instance delivers to it now. */
  readonly isLeased: boolean;
  readonly failures: number;
  /** Why the last attempt failed, if it did. */
  readonly reason: string | undefined;
  /** The first row that was not acknowledged then. */
  readonly failing: Position | undefined;
  /** Seconds until the next attempt; 0 if none is waited for. */
  readonly retryIn: number;
}

/** What the table webhooks says of an endpoint, as far as it shows whether the endpoint gets anything. */
interface EndpointRow {
  readonly endpoint: string;
  readonly reason: string | null;
  readonly isParked: boolean;
}

/** Which of the configured endpoints get nothing until somebody acts, in words; undefined if none. */
export function endpointsProblem(configured: readonly string[], rows: readonly EndpointRow[]): string | undefined {
  const missing = configured.filter((name) => !rows.some(({ endpoint }) => endpoint === name));
  if (missing.length > 0) return `the webhook of ${missing.join(', ')} gets nothing: ${MISSING_ROW}`;
  const list = rows
    .filter(({ endpoint, isParked }) => isParked && configured.includes(endpoint))
    .map(({ endpoint, reason }) => `${endpoint} (${reason})`);
  return list.length === 0 ? undefined : `the webhook of ${list.join(', ')} is parked: see npm run webhooks -- status`;
}

/** Of an endpoint without a row. */
export const MISSING_ROW =
  'its row in the table webhooks is gone: restore it, or restart the service, which begins anew';
