import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import type { KeepPositions, Lease } from '../../../application/webhooks/ports.ts';
import { PlantStoreError } from '../../../domain/errors.ts';
import { MIN_INT64 } from '../../../domain/plant.ts';
import { untilPassed } from '../calls/shared-run.ts';
import type { CallStore } from '../calls/store-call.ts';
import { SETTLED } from '../changes/change-epoch.ts';
import { requireChangeFeed } from '../changes/change-feed-check.ts';
import { lastBefore } from '../changes/change-statements.ts';
import type { Database } from '../database.ts';
import { SchemaError, sqlState } from '../errors.ts';

/** Whether the position is that of the table that there is: it is not if only one of the two was restored. */
export const IS_SAME_TABLE = sql`plants = 'plants'::regclass`;

/** As of an endpoint that has not failed. */
export const NO_FAILURE = sql`failures = 0, failing_since = null, failing_changed = null, failing_id = null,
  reason = null, retry_at = '-infinity', parked = false`;

const later = (milliseconds: number) => sql`now() + make_interval(secs => ${milliseconds / 1_000})`;

/** Adds an endpoint at the end of the feed, unless it is known. It rejects as KeepPositions does. */
type AddEndpoint = (endpoint: string) => Promise<void>;

/**
 * The table `webhooks`. Leases expire by the clock of the database. Each has a name of its own, so that a statement that
 * runs late does nothing.
 */
export function webhookPositions(store: Database, callStore: CallStore): KeepPositions & { add: AddEndpoint } {
  const database = store.sql;
  /** The endpoints that this instance has added or found. */
  const known = new Set<string>();

  const add: AddEndpoint = async (endpoint) => {
    await requireChangeFeed(store);
    if (known.has(endpoint)) return;
    await sql`insert into webhooks (endpoint, plants, changed, id)
      select ${endpoint}::text, 'plants'::regclass, coalesce(last.changed, 0), coalesce(last.id, ${MIN_INT64})
      from change_feed left join lateral (${lastBefore(SETTLED)}) as last on true where single = 1
      on conflict do nothing`.execute(database);
    known.add(endpoint);
  };

  /** A restore may be about to bring back a row that is gone, so it is not added again. @throws SchemaError */
  async function requireRow(endpoint: string): Promise<void> {
    const { rows } = await sql`select from webhooks where endpoint = ${endpoint}`.execute(database);
    if (rows.length === 0) throw new SchemaError(MISSING_ROW);
  }

  /** @returns whether the lease holds */
  async function update({ endpoint, holder }: Lease, set: RawBuilder<unknown>): Promise<boolean> {
    const statement = sql`update webhooks set ${set} where endpoint = ${endpoint} and holder = ${holder} returning 1`;
    const { rows } = await callStore(() => statement.execute(database));
    return rows.length > 0;
  }

  return {
    add: (endpoint) => callStore(() => add(endpoint)),

    async take(endpoint, milliseconds) {
      const holder = randomUUID();
      const { rows } = await callStore(async () => {
        await add(endpoint);
        const taken = await sql<Omit<Lease, 'position'> & Lease['position'] & { readonly parked: boolean }>`
          update webhooks set
            parked = not ${IS_SAME_TABLE},
            reason = case when ${IS_SAME_TABLE} then reason else ${OTHER_TABLE} end,
            holder = case when ${IS_SAME_TABLE} then ${holder}::uuid end,
            expires = ${later(milliseconds)}
          where endpoint = ${endpoint} and not parked and retry_at <= now()
            and (holder is null or holder = ${holder} or expires < now())
          returning parked, changed, id, failures,
            coalesce(extract(epoch from now() - failing_since) * 1000, 0)::float8 as "failingFor"
        `.execute(database);
        if (taken.rows.length === 0) await requireRow(endpoint);
        return taken;
      });
      const [row] = rows;
      if (row === undefined || row.parked) return undefined;
      const { changed, id, failures, failingFor } = row;
      return { endpoint, holder, position: { changed, id }, failures, failingFor };
    },

    renew: (lease, milliseconds) => update(lease, sql`expires = ${later(milliseconds)}`),

    advance: (lease, { changed, id }) => update(lease, sql`changed = ${changed}, id = ${id}, ${NO_FAILURE}`),

    async fail(lease, { failing, reason, failures, retryIn, isParked }) {
      await update(
        lease,
        sql`holder = null, failures = ${failures}, failing_since = coalesce(failing_since, now()),
          failing_changed = ${failing.changed}, failing_id = ${failing.id}, reason = ${reason},
          retry_at = ${later(retryIn)}, parked = ${isParked}`,
      );
    },

    async release(lease) {
      await update(lease, sql`holder = null`);
    },
  };
}

const OTHER_TABLE = 'the table plants is another one than that of its position: rewind it, which sends all plants';

const MISSING_ROW =
  'the row of this endpoint in the table webhooks is gone: restore it, or restart the service, which begins anew';

const MISSING_RIGHT = '42501';

/**
 * Creates the check before every use of the plants, which remembers success: the schema is ready, and every endpoint has
 * its place in the feed. What is written before would not be announced.
 *
 * @param schemaReady as for the store's calls
 * @returns a function like `schemaReady`. What only an operator can change does not hold up the plants; it is logged
 */
export function positionsGate(
  endpoints: readonly string[],
  add: AddEndpoint,
  schemaReady: () => Promise<void> | undefined,
  log: Logger,
): () => Promise<void> | undefined {
  return untilPassed(async () => {
    await schemaReady();
    try {
      await Promise.all(endpoints.map(add));
    } catch (err) {
      if (!needsOperator(err)) throw err;
      log.error({ err }, 'plants are accepted, but not announced by webhooks until the database permits it');
    }
  });
}

/** Whether it lacks a right or the feed of changes. */
function needsOperator(error: unknown): boolean {
  if (!(error instanceof PlantStoreError)) return false;
  const { code, cause } = error;
  if (code === 'changes_unavailable' || cause instanceof SchemaError) return true;
  return cause instanceof Error && sqlState(cause) === MISSING_RIGHT;
}
