import { sql } from 'kysely';
import type { PurgeSelection } from '../../../application/maintenance.ts';
import { MAX_INT64, MIN_INT64 } from '../../../domain/plant.ts';
import type { Run } from '../../sql/run.ts';
import type { Database } from '../database.ts';
import { requireChangeFeed, SETTLED } from './feed-state.ts';

/** Rows that a statement scans: a fraction of a second. */
const SCANNED = 5_000;

/** Scans all ids in parts, by statements of which each is complete in itself; see `purge` of `Maintenance`. */
export function plantPurge(database: Database, run: Run) {
  async function purgePart(scan: Scan, isDryRun: boolean) {
    const hasFeed = !(await database.isDistributed());
    // After a restore, rows that are ahead of the server's transactions would never count as settled.
    if (hasFeed) await requireChangeFeed(database);
    const { rows } = await scanned(scan, isDryRun, hasFeed).execute(database.sql);
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

/**
 * Scans a part. A purge must leave to the feed of changes, if there is one, a row whose deletion an open transaction may
 * still overtake, and a note, in the statement that deletes the others, of the last position that is missing from then on.
 * On Citus, too, one statement deletes from all servers. `end` is the last id that was scanned; null if that was all.
 */
function scanned({ from, to, minAge }: Scan, isDryRun: boolean, hasFeed: boolean) {
  const old = sql`select id from scanned where is_old`;
  const purged = isDryRun
    ? old
    : sql`delete from plants where id in (${old}) and deleted is not null returning changed, id`;
  const noted = sql`, last as (
      select changed, id from purged order by changed desc, id desc limit 1
    ), noted as (
      update change_feed set purged_changed = last.changed, purged_id = last.id
      from last where (last.changed, last.id) > (purged_changed, purged_id)
    )`;
  return sql<{ readonly count: number; readonly end: bigint | null }>`
    with scanned as (
      select id, deleted <= now() - make_interval(secs => ${minAge}) ${hasFeed ? sql`and changed < ${SETTLED}` : sql``} as is_old
      from plants ${hasFeed ? sql`join change_feed on single = 1` : sql``}
      where id between ${from} and ${to} order by id limit ${SCANNED}
    ), purged as (${purged}) ${hasFeed && !isDryRun ? noted : sql``}
    select (select count(*) from purged)::int as count,
      (select case when count(*) = ${sql.lit(SCANNED)} then max(id) end from scanned) as "end"`;
}
