import { CompiledQuery } from 'kysely';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { SETTLED } from './change-statements.ts';
import type { Database } from './database.ts';
import type { Int8 } from './plant-statements.ts';
import type { CallStore } from './store-call.ts';

/** Which deleted plants to forget: those deleted at least so many seconds ago, or the one that has the id. */
export interface PurgeSelection {
  readonly minAge: number;
  readonly id: bigint | undefined;
}

/** Rows that a statement scans: a fraction of a second. */
const SCANNED = 5_000;

/**
 * Creates the only way to free ids. Each statement is complete in itself, so that it can be interrupted and run again.
 *
 * @returns a function that scans all ids and yields the number of deleted plants in each part: forgotten, unless
 * `isDryRun`. It throws PlantStoreError `store_unavailable`.
 */
export function plantPurge(database: Database, callStore: CallStore) {
  return async function* purge({ minAge, id }: PurgeSelection, isDryRun: boolean): AsyncIterable<number> {
    const text = isDryRun ? COUNT : PURGE;
    const to = id ?? MAX_INT64;
    for (let from = id ?? MIN_INT64; ; ) {
      const query: CompiledQuery<PurgedRow> = CompiledQuery.raw(text, [from, to, SCANNED, minAge]);
      const { rows } = await callStore(() => database.sql.executeQuery(query));
      const { count = 0, reached = null } = rows[0] ?? {};
      yield Number(count);
      if (reached === null || BigInt(reached) === to) return;
      from = BigInt(reached) + 1n;
    }
  };
}

interface PurgedRow {
  readonly count: Int8;
  /** The last id that was scanned; null if that was all. */
  readonly reached: Int8 | null;
}

/** One whose deletion may still be overtaken in the feed of changes by a transaction that is open stays. */
const OLD = `with scanned as (
    select id, deleted < now() - make_interval(secs => $4) and changed < ${SETTLED} as is_old
    from plants, change_feed where single = 1 and id between $1 and $2 order by id limit $3
  )`;

const REACHED = '(select case when count(*) = $3 then max(id) end from scanned) as reached';

const COUNT = `${OLD} select (select count(*) from scanned where is_old) as count, ${REACHED}`;

/** In the statement that deletes them, it keeps the last position in the feed that is missing from then on. */
const PURGE = `${OLD}, purged as (
    delete from plants using scanned where plants.id = scanned.id and is_old and deleted is not null
    returning plants.changed, plants.id
  ), last as (
    select changed, id from purged order by changed desc, id desc limit 1
  ), noted as (
    update change_feed set purged_changed = last.changed, purged_id = last.id
    from last where (last.changed, last.id) > (purged_changed, purged_id)
  )
  select (select count(*) from purged) as count, ${REACHED}`;
