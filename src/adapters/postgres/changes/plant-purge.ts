import { sql } from 'kysely';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import type { PurgeSelection } from '../../feed/purge-selection.ts';
import type { Database } from '../database.ts';
import type { Run } from '../run.ts';
import { requireChangeFeed, SETTLED } from './feed-state.ts';

/** Rows that a statement scans: a fraction of a second. */
const SCANNED = 5_000;

/**
 * Creates the only way to free ids. Each statement is complete in itself, so that a purge can be interrupted and run
 * again.
 *
 * @returns a function that scans all ids and yields the number of deleted plants in each part: forgotten, unless
 * `isDryRun`. It throws PlantStoreError `store_unavailable`.
 */
export function plantPurge(database: Database, run: Run) {
  async function purgePart(scan: Scan, isDryRun: boolean): Promise<Part> {
    const feed = (await database.isDistributed()) ? NO_FEED : FEED;
    // After a restore, rows that are ahead of the server's transactions would never count as settled.
    if (feed === FEED) await requireChangeFeed(database);
    const { rows } = await (isDryRun ? counted(scan, feed) : purged(scan, feed)).execute(database.sql);
    return rows[0] ?? { count: 0, end: null };
  }

  return async function* purge({ minAge, id }: PurgeSelection, isDryRun: boolean): AsyncIterable<number> {
    const to = id ?? MAX_INT64;
    for (let from = id ?? MIN_INT64; ; ) {
      const { count, end } = await run('backgroundWrites', () => purgePart({ from, to, minAge }, isDryRun));
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

/**
 * What a purge must leave to the feed of changes: a row whose deletion an open transaction may still overtake, and a
 * note, in the statement that deletes the others, of the last position that is missing from then on.
 */
const FEED = {
  state: sql`join change_feed on single = 1`,
  isSettled: sql`and changed < ${SETTLED}`,
  noted: sql`, last as (
      select changed, id from purged order by changed desc, id desc limit 1
    ), noted as (
      update change_feed set purged_changed = last.changed, purged_id = last.id
      from last where (last.changed, last.id) > (purged_changed, purged_id)
    )`,
};

/** On Citus there is none. */
const NO_FEED: typeof FEED = { state: sql``, isSettled: sql``, noted: sql`` };

const scanned = ({ from, to, minAge }: Scan, { state, isSettled }: typeof FEED) => sql`
  with scanned as (
    select id, deleted <= now() - make_interval(secs => ${minAge}) ${isSettled} as is_old
    from plants ${state} where id between ${from} and ${to} order by id limit ${SCANNED}
  )`;

const END = sql`(select case when count(*) = ${sql.lit(SCANNED)} then max(id) end from scanned) as "end"`;

const counted = (scan: Scan, feed: typeof FEED) => sql<Part>`
  ${scanned(scan, feed)} select (select count(*) from scanned where is_old)::int as count, ${END}`;

/** On Citus, too, one statement deletes from all servers. */
const purged = (scan: Scan, feed: typeof FEED) => sql<Part>`
  ${scanned(scan, feed)}, purged as (
    delete from plants where id in (select id from scanned where is_old) and deleted is not null returning changed, id
  )${feed.noted}
  select (select count(*) from purged)::int as count, ${END}`;
