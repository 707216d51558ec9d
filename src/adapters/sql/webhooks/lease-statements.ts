import { type RawBuilder, sql } from 'kysely';
import type { Position } from '../../../application/ports.ts';
import type { Lease } from '../../../application/webhooks/ports.ts';
import type { Dialect } from '../dialect.ts';
import { columnsOf, statement } from '../statement.ts';
import { OTHER_TABLE } from './endpoints-problem.ts';
import { isDue, noFailure } from './rows.ts';

export interface HolderRow {
  readonly endpoint: string;
  /** Null where the lease is free. */
  readonly holder: string | null;
}

/** A row that was taken, or parked: then it has no holder. */
export interface TakenRow extends HolderRow, Position {
  readonly failures: number | bigint;
  readonly failing_for: number | bigint | null;
}

/** Leases that are held, and endpoints without one. */
export type Wanted = readonly (readonly [endpoint: string, holder: string | null, changed: bigint, id: bigint])[];

const rowsOf = (list: RawBuilder<Wanted>, { items }: Dialect) => sql`
  select value ->> 0 as wanted, value ->> 1 as held, cast(value ->> 2 as bigint) as held_changed,
    cast(value ->> 3 as bigint) as held_id from ${items(list)} as item`;

/**
 * Where the stored position is behind that of the lease that is held, the database was set back, and a fresh holder begins
 * there. Rows that are locked are passed over, and their lease is as it was. A lease that expires later than a lease time from
 * now is left from another clock.
 */
const take = statement<{ wanted: Wanted; fresh: string; time: number }, TakenRow>((parameter, dialect) => {
  const { clock, lock, presentTable } = dialect;
  const isPositionValid = columnsOf(presentTable).areEqual;
  const [fresh, end] = [parameter('fresh'), clock.later(parameter('time'))];
  return sql<TakenRow>`
    with wanted as (${rowsOf(parameter('wanted'), dialect)}), free as (
      select wanted.* from webhooks join wanted on endpoint = wanted
      where not parked and (
        cast(holder as text) in (held, ${fresh})
        or (${isDue(dialect)} and (holder is null or expires < ${clock.now} or expires > ${end}))
      ) ${lock('webhooks')}
    )
    update webhooks set
      parked = not ${isPositionValid},
      reason = case when ${isPositionValid} then reason else ${OTHER_TABLE} end,
      holder = case when not ${isPositionValid} then null
        when cast(holder as text) = held and (changed, id) >= (held_changed, held_id) then holder
        else ${fresh} end,
      expires = ${end},
      retry_at = ${clock.longAgo}
    from free where endpoint = wanted
    returning endpoint, holder, changed, id, failures, ${clock.millisecondsSince(sql`failing_since`)} as failing_for`;
});

const holders = statement<object, HolderRow>(() => sql`select endpoint, holder from webhooks`);

const isHeld = (endpoint: RawBuilder<string>, holder: RawBuilder<string>) =>
  sql`endpoint = ${endpoint} and cast(holder as text) = ${holder}`;

/** From another position, the statement runs late, or the table was restored. From the new one, it is repeated. */
const advance = statement<HeldLease & Record<'from_changed' | 'from_id', bigint> & Position, HolderRow>(
  (parameter, dialect) => sql<HolderRow>`
    update webhooks set ${
      columnsOf({
        changed: parameter('changed'),
        id: parameter('id'),
        ...noFailure(dialect),
      }).assignments
    }
    where ${isHeld(parameter('endpoint'), parameter('holder'))} and (
      (changed = ${parameter('from_changed')} and id = ${parameter('from_id')})
      or (changed = ${parameter('changed')} and id = ${parameter('id')})
    ) returning endpoint, holder`,
);

type HeldLease = Pick<Lease, 'endpoint' | 'holder'>;
interface Failed extends HeldLease, Position {
  readonly reason: string;
  readonly failures: number;
  readonly retryIn: number;
  readonly parked: number;
}

const fail = statement<Failed, HolderRow>((parameter, { clock }) => {
  const { now, later } = clock;
  return sql<HolderRow>`
    update webhooks set holder = null, expires = ${now}, failures = ${parameter('failures')},
      failing_since = coalesce(failing_since, ${now}), failing_changed = ${parameter('changed')},
      failing_id = ${parameter('id')}, reason = ${parameter('reason')}, retry_at = ${later(parameter('retryIn'))},
      parked = cast(${parameter('parked')} as integer) = 1
    where ${isHeld(parameter('endpoint'), parameter('holder'))}`;
});

const release = statement<{ wanted: Wanted }, HolderRow>(
  (parameter, dialect) => sql<HolderRow>`
    update webhooks set holder = null from (${rowsOf(parameter('wanted'), dialect)}) as wanted
    where endpoint = wanted and cast(holder as text) = held`,
);

export const leaseStatements = { take, holders, advance, fail, release };
