import { type RawBuilder, sql } from 'kysely';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import type { CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { SETTLED } from './change-epoch.ts';

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
  async function purgePart(isDryRun: boolean, part: Scan): Promise<Part> {
    const statements = (await database.isDistributed()) ? onCitus : onPostgres;
    const { rows } = await (isDryRun ? statements.count : statements.purge)(part).execute(database.sql);
    return rows[0] ?? { count: 0, end: null };
  }

  return async function* purge({ minAge, id }: PurgeSelection, isDryRun: boolean): AsyncIterable<number> {
    const to = id ?? MAX_INT64;
    for (let from = id ?? MIN_INT64; ; ) {
      const { count, end } = await callStore(() => purgePart(isDryRun, { from, to, minAge }));
      yield count;
      if (end === null || end === to) return;
      from = end + 1n;
    }
  };
}

/** A part of the ids to scan, and the age of what is to be forgotten there. */
interface Scan {
  readonly from: bigint;
  readonly to: bigint;
  readonly minAge: number;
}

interface Part {
  readonly count: number;
  /** The last id that was scanned; null if that was all. */
  readonly end: bigint | null;
}

/** Scans a part of the ids. @param isOld which rows are to be forgotten @param state of the feed, to join */
const scanned = ({ from, to, minAge }: Scan, isOld: RawBuilder<unknown>, state: RawBuilder<unknown>) => sql`
  scanned as (
    select id, deleted <= now() - make_interval(secs => ${minAge}) ${isOld} as is_old
    from plants ${state} where id between ${from} and ${to} order by id limit ${SCANNED}
  )`;

const END = sql`(select case when count(*) = ${sql.lit(SCANNED)} then max(id) end from scanned) as "end"`;

/** One whose deletion may still be overtaken in the feed of changes by a transaction that is open stays. */
const settled = (part: Scan) => scanned(part, sql`and changed < ${SETTLED}`, sql`join change_feed on single = 1`);

/** On Citus there is no feed. */
const unordered = (part: Scan) => scanned(part, sql``, sql``);

const counted = (old: RawBuilder<unknown>) =>
  sql<Part>`with ${old} select (select count(*) from scanned where is_old)::int as count, ${END}`;

const onPostgres = {
  count: (part: Scan) => counted(settled(part)),
  /** In the statement that deletes them, it keeps the last position in the feed that is missing from then on. */
  purge: (part: Scan) => sql<Part>`
    with ${settled(part)}, purged as (
      delete from plants using scanned where plants.id = scanned.id and is_old and deleted is not null
      returning plants.changed, plants.id
    ), last as (
      select changed, id from purged order by changed desc, id desc limit 1
    ), noted as (
      update change_feed set purged_changed = last.changed, purged_id = last.id
      from last where (last.changed, last.id) > (purged_changed, purged_id)
    )
    select (select count(*) from purged)::int as count, ${END}`,
};

/** One statement deletes from all servers. */
const onCitus = {
  count: (part: Scan) => counted(unordered(part)),
  purge: (part: Scan) => sql<Part>`
    with ${unordered(part)}, purged as (
      delete from plants where id in (select id from scanned where is_old) and deleted is not null returning 1
    )
    select (select count(*) from purged)::int as count, ${END}`,
};
