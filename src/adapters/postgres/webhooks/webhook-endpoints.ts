import { type RawBuilder, sql } from 'kysely';
import { positionOf } from '../../../application/changes/cursor.ts';
import { type KnownEndpoint, MAX_COUNTED, type WebhookEndpoints } from '../../../application/maintenance.ts';
import type { Position } from '../../../application/ports.ts';
import type { EndpointState } from '../../../application/webhooks/ports.ts';
import { MIN_INT64 } from '../../../domain/plant.ts';
import type { Run } from '../../sql/run.ts';
import { lastBefore, SETTLED } from '../changes/feed-state.ts';
import type { Database } from '../database.ts';
import { ROW } from './webhook-positions.ts';

interface StateRow extends Omit<EndpointState, 'position' | 'end'>, Position {
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
}

interface KnownRow extends StateRow, Omit<KnownEndpoint, keyof EndpointState | 'reason' | 'failing'> {
  readonly reason: string | null;
  readonly failing_changed: bigint | null;
  readonly failing_id: bigint | null;
}

/** How the endpoints are doing, for each scrape of metrics. */
export function endpointStates({ sql: database }: Database, run: Run): () => Promise<EndpointState[]> {
  return async () => (await run('reads', () => selectStates.execute(database))).rows.map(stateOf);
}

export function webhookEndpoints({ sql: database }: Database, run: Run): WebhookEndpoints {
  /** Whoever delivers begins anew. @returns whether there is such an endpoint, for which the condition holds */
  async function change(endpoint: string, where: RawBuilder<unknown>, ...set: RawBuilder<unknown>[]): Promise<boolean> {
    const { rows } = await run('writes', () =>
      sql`update webhooks set ${sql.join([ROW.noFailure, NO_HOLDER, ...set])}
        where endpoint = ${endpoint} and ${where} returning 1`.execute(database),
    );
    return rows.length > 0;
  }

  return {
    async states() {
      const { rows } = await run('reads', () => selectKnown.execute(database));
      return rows.map(knownOf);
    },
    resume: (endpoint) => change(endpoint, ROW.isSameTable),
    skip(endpoint, { changed, id }) {
      // After a lost connection the statement is repeated, and then nothing fails any more.
      const isOrWasFailing = sql`${ROW.isSameTable}
        and (${changed}, ${id}) in ((failing_changed, failing_id), (webhooks.changed, webhooks.id))`;
      return change(endpoint, isOrWasFailing, sql`changed = ${changed}, id = ${id}`);
    },
    rewind: (endpoint) => change(endpoint, sql`true`, sql`plants = 'plants'::regclass, changed = 0, id = ${MIN_INT64}`),
  };
}

/** Takes the lease from whoever has it, and gives it to nobody before it expires: until then that one may begin requests. */
const NO_HOLDER = sql`holder = case when holder is not null then gen_random_uuid() end`;

/** @param more columns that begin with a comma */
const statesWith = <Row extends StateRow>(more = sql``) => sql<Row>`
  select endpoint, webhooks.changed, webhooks.id, parked as "isParked", last.changed as end_changed, last.id as end_id${more}
  from webhooks left join (select ${SETTLED} as settled from change_feed where single = 1) as feed on true
  left join lateral (${lastBefore(sql`settled`)}) as last on true order by endpoint`;

const selectStates = statesWith();

/** The same with what only operators ask for: what waits is counted row by row. */
export const selectKnown = statesWith<KnownRow>(sql`, failures, reason, failing_changed, failing_id,
  holder is not null and expires > now() as "isLeased",
  case when ${ROW.isDue} then 0 else extract(epoch from retry_at - now()) end::float8 as "retryIn",
  (select count(*)::int from (
    select from plants where (plants.changed, plants.id) > (webhooks.changed, webhooks.id) and plants.changed < settled
    order by plants.changed, plants.id limit ${sql.lit(MAX_COUNTED)}
  ) as one) as backlog`);

function stateOf({ endpoint, changed, id, end_changed, end_id, isParked }: StateRow): EndpointState {
  const position = { changed, id };
  return { endpoint, position, end: positionOf(end_changed, end_id) ?? position, isParked };
}

function knownOf(row: KnownRow): KnownEndpoint {
  const { backlog, isLeased, failures, reason, failing_changed, failing_id, retryIn } = row;
  const failing = positionOf(failing_changed, failing_id);
  return { ...stateOf(row), backlog, isLeased, failures, reason: reason ?? undefined, failing, retryIn };
}
