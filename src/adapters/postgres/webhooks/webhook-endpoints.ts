import { type RawBuilder, sql } from 'kysely';
import { type KnownEndpoint, MAX_COUNTED, type WebhookEndpoints } from '../../../application/maintenance.ts';
import type { Position } from '../../../application/ports.ts';
import { MIN_INT64 } from '../../../domain/plant.ts';
import { positionOf } from '../../feed/change-cursor.ts';
import { lastBefore, SETTLED } from '../changes/feed-state.ts';
import type { Database } from '../database.ts';
import type { Run } from '../run.ts';
import { ROW } from './webhook-positions.ts';

interface Row extends Omit<KnownEndpoint, 'position' | 'end' | 'reason' | 'failing'>, Position {
  readonly end_changed: bigint | null;
  readonly end_id: bigint | null;
  readonly reason: string | null;
  readonly failing_changed: bigint | null;
  readonly failing_id: bigint | null;
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
      const { rows } = await run('reads', () => selectStates.execute(database));
      return rows.map(stateOf);
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

/** What is known of all endpoints. */
export const selectStates = sql<Row>`
  select endpoint, webhooks.changed, webhooks.id, parked as "isParked", failures, reason, failing_changed, failing_id,
    holder is not null and expires > now() as "isLeased",
    case when ${ROW.isDue} then 0 else extract(epoch from retry_at - now()) end::float8 as "retryIn",
    last.changed as end_changed, last.id as end_id, backlog
  from webhooks left join (select ${SETTLED} as settled from change_feed where single = 1) as feed on true
  left join lateral (${lastBefore(sql`settled`)}) as last on true
  cross join lateral (
    select count(*)::int as backlog from (
      select from plants where (plants.changed, plants.id) > (webhooks.changed, webhooks.id) and plants.changed < settled
      order by plants.changed, plants.id limit ${sql.lit(MAX_COUNTED)}
    ) as one
  ) as counted order by endpoint`;

function stateOf(row: Row): KnownEndpoint {
  const { changed, id, end_changed, end_id, failing_changed, failing_id, reason, ...others } = row;
  const position = { changed, id };
  const end = positionOf(end_changed, end_id) ?? position;
  return { ...others, position, end, reason: reason ?? undefined, failing: positionOf(failing_changed, failing_id) };
}
