import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { KeepPositions, Lease, LeaseOutcome } from '../../../application/webhooks/ports.ts';
import { OTHER_TABLE } from '../../sql/endpoints-problem.ts';
import type { Run } from '../../sql/run.ts';
import type { Database } from '../database.ts';

/** Of a row of the table `webhooks`. */
export const ROW = {
  /** Whether the position is that of the table that there is: it is not if only one of the two was restored. */
  isSameTable: sql`plants = 'plants'::regclass`,
  /**
   * Whether the next attempt may begin. Without a holder, `expires` is when the last one failed, or later: it lies ahead of a
   * clock that has been set back since, and then `retry_at` says nothing.
   */
  isDue: sql`(retry_at <= now() or (holder is null and expires > clock_timestamp()))`,
  /** As of an endpoint that has not failed. */
  noFailure: sql`failures = 0, failing_since = null, failing_changed = null, failing_id = null,
    reason = null, retry_at = '-infinity', parked = false`,
};

const later = (milliseconds: number) => sql`make_interval(secs => ${milliseconds / 1_000})`;

/** Endpoints and their leases, if they are held, as rows: `wanted`. */
function rowsOf(endpoints: readonly string[], held: readonly Lease[]) {
  const rows = endpoints.map((endpoint) => {
    const { holder, position } = held.find((lease) => lease.endpoint === endpoint) ?? {};
    return { endpoint, held: holder, held_changed: `${position?.changed ?? 0}`, held_id: `${position?.id ?? 0}` };
  });
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
    as wanted (endpoint text, held uuid, held_changed bigint, held_id bigint)`;
}

/** An endpoint: its row as it was, and what has been taken of it, if it has. */
interface Found {
  readonly endpoint: string;
  readonly isKnown: boolean;
  /** Who had the lease. */
  readonly before: string | null;
  /** Who has it now, if the row was updated; null if it is parked. */
  readonly holder: string | null;
  readonly isUpdated: boolean;
  readonly changed: bigint;
  readonly id: bigint;
  readonly failures: number;
  readonly failingFor: number;
}

/**
 * The table `webhooks`. Leases expire by the clock of the database. Each run of `take` has a new holder, and no holder gets
 * a lease again after its task has ended: a statement that runs late moves no position. A `take` that runs late assigns free
 * leases to a holder without a task; these leases stay unused until they expire.
 *
 * @param ensureRegistered as registerEndpoints gives it
 */
export function webhookPositions(
  { sql: database }: Database,
  run: Run,
  endpoints: readonly string[],
  ensureRegistered: () => Promise<void> | undefined,
): KeepPositions {
  /** @returns whether the lease is still that one */
  async function update({ endpoint, holder }: Lease, set: RawBuilder<unknown>, where = sql`true`): Promise<boolean> {
    const statement = sql`update webhooks set ${set}
      where endpoint = ${endpoint} and holder = ${holder} and ${where} returning 1`;
    const { rows } = await run('writes', () => statement.execute(database));
    return rows.length > 0;
  }

  return {
    async take(held, milliseconds) {
      const fresh = randomUUID();
      const wanted = rowsOf(endpoints, held);
      const { rows } = await run('writes', async () => {
        await ensureRegistered();
        return takeLeases(wanted, fresh, milliseconds).execute(database);
      });
      const holders = new Map(held.map(({ endpoint, holder }) => [endpoint, holder]));
      return new Map(rows.flatMap((found) => outcomeOf(found, holders.get(found.endpoint))));
    },

    // From another position, the statement runs late, or the table was restored. From the new one, it is repeated.
    advance: (lease, { changed, id }) =>
      update(
        lease,
        sql`changed = ${changed}, id = ${id}, ${ROW.noFailure}`,
        sql`(changed, id) in ((${lease.position.changed}, ${lease.position.id}), (${changed}, ${id}))`,
      ),

    async fail(lease, { failing, reason, failures, retryIn, isParked }) {
      await update(
        lease,
        sql`holder = null, expires = now(), failures = ${failures}, failing_since = coalesce(failing_since, now()),
          failing_changed = ${failing.changed}, failing_id = ${failing.id}, reason = ${reason},
          retry_at = now() + ${later(retryIn)}, parked = ${isParked}`,
      );
    },

    async release(held) {
      if (held.length === 0) return;
      const statement = sql`update webhooks set holder = null from ${rowsOf(endpoints, held)}
        where webhooks.endpoint = wanted.endpoint and holder = held`;
      await run('writes', () => statement.execute(database));
    },
  };
}

/**
 * Where the stored position is behind that of the lease that is held, the database was set back, and a fresh holder begins
 * there. Rows that are locked are passed over, and their lease is as it was. A lease that expires later than a lease time from
 * now is left from another clock. Not `now()`, the start of this statement: a lease that another instance has taken since
 * would seem to expire too late.
 */
function takeLeases(wanted: RawBuilder<unknown>, fresh: string, milliseconds: number) {
  const time = later(milliseconds);
  return sql<Found>`
    with free as (
      select webhooks.endpoint, held, held_changed, held_id from webhooks join ${wanted} using (endpoint)
      where not parked and (
        holder in (held, ${fresh}::uuid)
        or (${ROW.isDue} and (holder is null or expires < now() or expires > clock_timestamp() + ${time}))
      )
      for no key update of webhooks skip locked
    ), taken as (
      update webhooks set
        parked = not ${ROW.isSameTable},
        reason = case when ${ROW.isSameTable} then reason else ${OTHER_TABLE} end,
        holder = case when not ${ROW.isSameTable} then null
          when holder = held and (webhooks.changed, webhooks.id) >= (held_changed, held_id) then held
          else ${fresh}::uuid end,
        expires = now() + ${time},
        retry_at = '-infinity'
      from free where webhooks.endpoint = free.endpoint
      returning webhooks.*
    )
    select wanted.endpoint, found.endpoint is not null as "isKnown", found.holder as before, taken.holder,
      taken.endpoint is not null as "isUpdated", taken.changed, taken.id, taken.failures,
      coalesce(extract(epoch from now() - taken.failing_since) * 1000, 0)::float8 as "failingFor"
    from ${wanted} left join webhooks as found using (endpoint)
    left join taken on taken.endpoint = wanted.endpoint`;
}

/** @param mine the holder under which this process had the lease; undefined if it had none. @returns at most one outcome */
function outcomeOf(
  { endpoint, isKnown, before, holder, isUpdated, changed, id, failures, failingFor }: Found,
  mine: string | undefined,
): [string, LeaseOutcome][] {
  if (!isKnown) return [[endpoint, 'missing']];
  if (holder === null) return mine === undefined || (mine === before && !isUpdated) ? [] : [[endpoint, 'lost']];
  if (holder === mine) return [[endpoint, 'renewed']];
  return [[endpoint, { endpoint, holder, position: { changed, id }, failures, failingFor }]];
}
