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

/** Of an endpoint that is parked since its position is not one of this table. */
export const OTHER_TABLE =
  'the table plants is another one than that of its position: rewind it, which sends all plants';
