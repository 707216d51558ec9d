import { CompiledQuery } from 'kysely';
import { MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { SETTLED } from './change-statements.ts';
import { distribution } from './citus.ts';
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
  const isDistributed = distribution(database);

  async function purgePart(isDryRun: boolean, parameters: readonly unknown[]): Promise<Part> {
    const [count, purge] = (await isDistributed()) ? [COUNT_DISTRIBUTED, PURGE_DISTRIBUTED] : [COUNT, PURGE];
    const query: CompiledQuery<Part> = CompiledQuery.raw(isDryRun ? count : purge, [...parameters]);
    const { rows } = await database.sql.executeQuery(query);
    return rows[0] ?? { count: 0, reached: null };
  }

  return async function* purge({ minAge, id }: PurgeSelection, isDryRun: boolean): AsyncIterable<number> {
    const to = id ?? MAX_INT64;
    for (let from = id ?? MIN_INT64; ; ) {
      const { count, reached } = await callStore(() => purgePart(isDryRun, [from, to, SCANNED, minAge]));
      yield Number(count);
      if (reached === null || BigInt(reached) === to) return;
      from = BigInt(reached) + 1n;
    }
  };
}

interface Part {
  readonly count: Int8;
  /** The last id that was scanned; null if that was all. */
  readonly reached: Int8 | null;
}

/** Scans a part of the ids. @param isOld which rows are to be forgotten @param state of the feed, to join */
const scanned = (isOld: string, state: string) => `with scanned as (
    select id, deleted <= now() - make_interval(secs => $4) ${isOld} as is_old
    from plants ${state} where id between $1 and $2 order by id limit $3
  )`;

const REACHED = '(select case when count(*) = $3 then max(id) end from scanned) as reached';

const counted = (old: string) => `${old} select (select count(*) from scanned where is_old) as count, ${REACHED}`;

/** One whose deletion may still be overtaken in the feed of changes by a transaction that is open stays. */
const OLD = scanned(`and changed < ${SETTLED}`, 'join change_feed on single = 1');

const COUNT = counted(OLD);

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

/** On Citus there is no feed, and one statement deletes from all servers. */
const OLD_DISTRIBUTED = scanned('', '');

const COUNT_DISTRIBUTED = counted(OLD_DISTRIBUTED);

const PURGE_DISTRIBUTED = `${OLD_DISTRIBUTED}, purged as (
    delete from plants where id in (select id from scanned where is_old) and deleted is not null returning 1
  )
  select (select count(*) from purged) as count, ${REACHED}`;
