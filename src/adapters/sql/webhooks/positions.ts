import { randomUUID } from 'node:crypto';
import type { KeepPositions, Lease, LeaseOutcome } from '../../../application/webhooks/ports.ts';
import type { Run } from '../run.ts';
import { type HolderRow, leaseStatements, type TakenRow, type Wanted } from './lease-statements.ts';

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
  const rowOf = (endpoint: string, lease?: Lease): Wanted[number] =>
    lease === undefined
      ? [endpoint, null, 0n, 0n]
      : [endpoint, lease.holder, lease.position.changed, lease.position.id];

  return {
    async take(held, time) {
      const mine = new Map(held.map((lease) => [lease.endpoint, lease]));
      const values = { wanted: endpoints.map((name) => rowOf(name, mine.get(name))), fresh: randomUUID(), time };
      const [taken, stored] = await run('writes', async (session) => {
        await ensureEntered();
        return [await leaseStatements.take(session, values), await leaseStatements.holders(session, {})];
      });
      const outcomes = endpoints.map((endpoint): [string, LeaseOutcome | undefined] => {
        const isOf = (row: HolderRow) => row.endpoint === endpoint;
        return [endpoint, outcomeOf(mine.get(endpoint)?.holder, taken.find(isOf), stored.find(isOf))];
      });
      return new Map(outcomes.flatMap(([endpoint, outcome]) => (outcome === undefined ? [] : [[endpoint, outcome]])));
    },

    async advance({ endpoint, holder, position: { changed: from_changed, id: from_id } }, { changed, id }) {
      const values = { endpoint, holder, from_changed, from_id, changed, id };
      return (await run('writes', (session) => leaseStatements.advance(session, values))).length > 0;
    },

    async fail({ endpoint, holder }, { failing: { changed, id }, isParked, ...attempt }) {
      const values = { ...attempt, endpoint, holder, changed, id, parked: Number(isParked) };
      await run('writes', (session) => leaseStatements.fail(session, values));
    },

    async release(held) {
      if (held.length === 0) return;
      const wanted = held.map((lease) => rowOf(lease.endpoint, lease));
      await run('writes', (session) => leaseStatements.release(session, { wanted }));
    },
  };
}

/**
 * @param mine the holder under which this process had the lease; undefined if it had none
 * @param stored the row as it is after that; undefined if there is none
 * @returns undefined if the lease goes on as it was, or is not to be had
 */
function outcomeOf(
  mine: string | undefined,
  taken: TakenRow | undefined,
  stored: HolderRow | undefined,
): LeaseOutcome | undefined {
  if (stored === undefined) return 'missing';
  if (taken === undefined || taken.holder === null) {
    return mine === undefined || mine === stored.holder ? undefined : 'lost';
  }
  const { endpoint, holder, changed, id, failures, failing_for } = taken;
  if (holder === mine) return 'renewed';
  return {
    endpoint,
    holder,
    position: { changed, id },
    failures: Number(failures),
    failingFor: Number(failing_for ?? 0),
  };
}
