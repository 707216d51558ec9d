import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { START } from '../../../application/changes/cursor.ts';
import type { Position } from '../../../application/changes/ports.ts';
import type { DeliveryFailure, KeepPositions, Lease, LeaseOutcome } from '../../../application/webhooks/ports.ts';
import type { Run } from '../run.ts';
import { columnsOf, statement } from '../statement.ts';
import { type EndpointRow, isDue, noFailure, selectEndpoints } from './endpoints.ts';

type LeaseKey = Pick<Lease, 'endpoint' | 'holder'>;

/** A row that this statement has leased or parked. A parked row has no holder. */
interface LeaseRow extends Pick<EndpointRow, 'endpoint' | 'holder'>, Position {
  readonly failures: number | bigint;
  readonly failing_for: number | bigint | null;
}

/** An endpoint, with the lease that this process has, if it has one. */
type HeldLease = readonly [endpoint: string, holder: string | null, changed: bigint, id: bigint];

/**
 * Takes and renews leases. If the stored position is behind that of the held lease, the database was restored, and a fresh
 * holder begins there. Locked rows keep their lease. A lease that ends more than its time from now is of a clock ahead, and free.
 */
const takeLease = statement<{ leases: readonly HeldLease[]; fresh: string; time: number }, LeaseRow>(
  (parameter, dialect) => {
    const { clock, items, lock, presentTable } = dialect;
    const isPositionValid = columnsOf(presentTable).areEqual;
    const [fresh, end] = [parameter('fresh'), clock.later(parameter('time'))];
    return sql<LeaseRow>`
    with wanted as (
      select value ->> 0 as wanted, value ->> 1 as held, cast(value ->> 2 as bigint) as held_changed,
        cast(value ->> 3 as bigint) as held_id from ${items(parameter('leases'))} as item
    ), free as (
      select wanted.* from webhooks join wanted on endpoint = wanted
      where not parked and (
        cast(holder as text) in (held, ${fresh})
        or (${isDue(dialect)} and (holder is null or expires < ${clock.now} or expires > ${end}))
      ) ${lock('webhooks')}
    )
    update webhooks set
      parked = not ${isPositionValid},
      reason = case when ${isPositionValid} then reason
        else 'the table plants was replaced: rewind it, which sends all plants' end,
      holder = case when not ${isPositionValid} then null
        when cast(holder as text) = held and (changed, id) >= (held_changed, held_id) then holder
        else ${fresh} end,
      expires = ${end},
      retry_at = ${clock.longAgo}
    from free where endpoint = wanted
    returning endpoint, holder, changed, id, failures, ${clock.millisecondsSince(sql`failing_since`)} as failing_for`;
  },
);

const isHeld = (endpoint: RawBuilder<string>, holder: RawBuilder<string>) =>
  sql`endpoint = ${endpoint} and cast(holder as text) = ${holder}`;

/** Moves a position if the old or the new one is stored. Otherwise the statement runs late, or the table was restored. */
const advanceLease = statement<LeaseKey & Position & { fromChanged: bigint; fromId: bigint }, unknown>(
  (parameter, dialect) => {
    const position = { changed: parameter('changed'), id: parameter('id') };
    const from = { changed: parameter('fromChanged'), id: parameter('fromId') };
    return sql`
      update webhooks set ${columnsOf({ ...position, ...noFailure(dialect) }).assignments}
      where ${isHeld(parameter('endpoint'), parameter('holder'))}
        and (${columnsOf(from).areEqual} or ${columnsOf(position).areEqual}) returning endpoint`;
  },
);

type FailValues = LeaseKey & Position & Omit<DeliveryFailure, 'failing' | 'isParked'> & { readonly parked: number };

const failLease = statement<FailValues, never>(
  (parameter, { clock: { now, later } }) => sql`
    update webhooks set holder = null, expires = ${now}, failures = ${parameter('failures')},
      failing_since = coalesce(failing_since, ${now}), failing_changed = ${parameter('changed')},
      failing_id = ${parameter('id')}, reason = ${parameter('reason')}, retry_at = ${later(parameter('retryIn'))},
      parked = cast(${parameter('parked')} as integer) = 1
    where ${isHeld(parameter('endpoint'), parameter('holder'))}`,
);

const releaseLease = statement<LeaseKey, never>(
  (parameter) => sql`update webhooks set holder = null where ${isHeld(parameter('endpoint'), parameter('holder'))}`,
);

/**
 * The table `webhooks`. Leases expire by the clock of the database. Each run of `take` has a new holder, and no holder gets
 * a lease again after its task has ended: a statement that runs late moves no position. A `take` that runs late assigns free
 * leases to a holder without a task; these leases stay unused until they expire.
 *
 * @param ensureEntered resolves once every endpoint has its row, or had it
 */
export function webhookPositions(
  run: Run,
  endpoints: readonly string[],
  ensureEntered: () => Promise<void> | undefined = () => undefined,
): KeepPositions {
  return {
    async take(held, time) {
      const mine = new Map(held.map((lease) => [lease.endpoint, lease]));
      const own = endpoints.map((name): HeldLease => {
        const { holder = null, position: { changed, id } = START } = mine.get(name) ?? {};
        return [name, holder, changed, id];
      });
      const values = { leases: own, fresh: randomUUID(), time };
      const [leases, rows] = await run('writes', async (session) => {
        await ensureEntered();
        return [await takeLease(session, values), await selectEndpoints(session, {})];
      });
      const outcomes = new Map<string, LeaseOutcome>();
      for (const name of endpoints) {
        const isOf = ({ endpoint }: Pick<EndpointRow, 'endpoint'>) => endpoint === name;
        const outcome = outcomeOf(mine.get(name)?.holder, leases.find(isOf), rows.find(isOf));
        if (outcome !== undefined) outcomes.set(name, outcome);
      }
      return outcomes;
    },

    async advance({ endpoint, holder, position: { changed: fromChanged, id: fromId } }, { changed, id }) {
      const values = { endpoint, holder, fromChanged, fromId, changed, id };
      return (await run('writes', (session) => advanceLease(session, values))).length > 0;
    },

    async fail({ endpoint, holder }, { failing: { changed, id }, isParked, ...attempt }) {
      const values = { ...attempt, endpoint, holder, changed, id, parked: Number(isParked) };
      await run('writes', (session) => failLease(session, values));
    },

    async release(held) {
      if (held.length === 0) return;
      await run('writes', async (session) => {
        for (const { endpoint, holder } of held) await releaseLease(session, { endpoint, holder });
      });
    },
  };
}

/**
 * @param mine the holder under which this process had the lease; undefined if it had none
 * @param row the row as it is after that; undefined if there is none
 * @returns undefined if the lease is unchanged, or not available
 */
function outcomeOf(
  mine: string | undefined,
  lease: LeaseRow | undefined,
  row: EndpointRow | undefined,
): LeaseOutcome | undefined {
  if (lease === undefined || lease.holder === null) {
    return mine === undefined || mine === row?.holder ? undefined : 'lost';
  }
  const { endpoint, holder, changed, id, failures, failing_for } = lease;
  if (holder === mine) return 'renewed';
  return {
    endpoint,
    holder,
    position: { changed, id },
    failures: Number(failures),
    failingFor: Number(failing_for ?? 0),
  };
}
