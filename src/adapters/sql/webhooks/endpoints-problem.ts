import { sql } from 'kysely';
import type { Session } from '../dialect.ts';
import { statement } from '../statement.ts';

/** What shows whether an endpoint gets anything. */
interface EndpointRow {
  readonly endpoint: string;
  readonly reason: string | null;
  readonly parked: unknown;
}

const selectAll = statement<object, EndpointRow>(() => sql`select endpoint, reason, parked from webhooks`);

/** Which of the configured endpoints get nothing until somebody acts, in words; undefined if none. */
export async function endpointsProblem(session: Session, configured: readonly string[]): Promise<string | undefined> {
  if (configured.length === 0) return undefined;
  const rows = await selectAll(session, {});
  const missing = configured.filter((name) => !rows.some(({ endpoint }) => endpoint === name));
  if (missing.length > 0) return `the webhook of ${missing.join(', ')} gets nothing: ${MISSING_ROW}`;
  const list = rows
    .filter(({ endpoint, parked }) => Boolean(parked) && configured.includes(endpoint))
    .map(({ endpoint, reason }) => `${endpoint} (${reason})`);
  return list.length === 0 ? undefined : `the webhook of ${list.join(', ')} is parked: see npm run webhooks -- status`;
}

/** Of an endpoint without a row. */
export const MISSING_ROW =
  'its row in the table webhooks is gone: restore it, or restart the service, which then sends later changes only';

/** Of an endpoint that is parked since its position is not one of this table. */
export const OTHER_TABLE = 'the table plants was replaced: rewind it, which sends all plants';
