import { type RawBuilder, sql } from 'kysely';
import { MIN_INT64 } from '../../../domain/plant.ts';
import { endOf, requireLog } from '../changes/reader.ts';
import type { Columns, Dialect, Session } from '../dialect.ts';
import { columnsOf, statement } from '../statement.ts';

/* The endpoints in the table `webhooks`, and what the statements on its rows have in common. */

/** The problem of an endpoint without a row. */
const MISSING_ROW =
  'its row in the table webhooks is gone: restore it, or restart the service, which then sends later changes only';

export interface EndpointRow {
  readonly endpoint: string;
  /** Null where the lease is free. */
  readonly holder: string | null;
  readonly reason: string | null;
  readonly parked: unknown;
}

export const selectEndpoints = statement<object, EndpointRow>(
  () => sql`select endpoint, holder, reason, parked from webhooks`,
);

const insertEndpoints = statement<{ names: readonly (readonly [string])[] }, never>((parameter, dialect) => {
  const { names, values } = columnsOf({
    endpoint: sql`value ->> 0`,
    changed: sql`coalesce(end_changed, 0)`,
    id: sql`coalesce(end_id, ${MIN_INT64})`,
    ...dialect.presentTable,
  });
  return sql`
    insert into webhooks (${names}) select ${values}
    from ${dialect.items(parameter('names'))} as item left join (${endOf(dialect)}) as last on true where true
    on conflict (endpoint) do nothing`;
});

function missingIn(rows: readonly EndpointRow[], endpoints: readonly string[]): string[] {
  return endpoints.filter((name) => !rows.some(({ endpoint }) => endpoint === name));
}

/**
 * Gives each endpoint without a row a place at the end of the log. It must be called only once: an endpoint whose row is
 * deleted later is not entered again, since a restore may be about to bring the row back. It writes nothing if all have rows.
 */
export async function enterEndpoints(session: Session, endpoints: readonly string[]): Promise<void> {
  const missing = missingIn(await selectEndpoints(session, {}), endpoints);
  if (missing.length === 0) return;
  await requireLog(session);
  await insertEndpoints(session, { names: missing.map((name) => [name] as const) });
}

/** Which of the configured endpoints get nothing until somebody acts, in words; undefined if none. */
export async function endpointsProblem(session: Session, configured: readonly string[]): Promise<string | undefined> {
  if (configured.length === 0) return undefined;
  const rows = await selectEndpoints(session, {});
  const missing = missingIn(rows, configured);
  if (missing.length > 0) return `the webhook of ${missing.join(', ')} gets nothing: ${MISSING_ROW}`;
  const list = rows
    .filter(({ endpoint, parked }) => Boolean(parked) && configured.includes(endpoint))
    .map(({ endpoint, reason }) => `${endpoint} (${reason})`);
  return list.length === 0 ? undefined : `the webhook of ${list.join(', ')} is parked: see npm run webhooks -- status`;
}

/**
 * Whether the next attempt may begin. While an endpoint has no holder, `expires` is not before its last failure. If it is
 * in the future, the clock has been set back since, and `retry_at` is not reliable.
 */
export const isDue = ({ clock }: Dialect): RawBuilder<unknown> =>
  sql`(retry_at <= ${clock.now} or (holder is null and expires > ${clock.now}))`;

/** The columns of an endpoint that has not failed. */
export const noFailure = ({ clock }: Dialect): Columns => ({
  failures: sql`0`,
  failing_since: sql`null`,
  failing_changed: sql`null`,
  failing_id: sql`null`,
  reason: sql`null`,
  retry_at: clock.longAgo,
  parked: sql`false`,
});
