import { sql } from 'kysely';
import type { Position } from '../../../application/ports.ts';
import type { Entry, ReadEntries } from '../../../application/webhooks/ports.ts';
import { semaphore } from '../calls/semaphore.ts';
import { sharedRuns } from '../calls/shared-run.ts';
import { statement } from '../calls/statement.ts';
import type { CallStore } from '../calls/store-call.ts';
import { FEED_STATE, firstRows, type StateRow } from '../changes/change-statements.ts';
import { feedReader } from '../changes/feed-reader.ts';
import type { Database } from '../database.ts';
import { PLANT_JSON, READ_TEXT } from '../plants/plant-columns.ts';

/** Rows of a page. */
const PAGE_ROWS = 200;

/** The state of the feed, and one row of the page; that is null if there is none. */
interface Row extends StateRow {
  readonly changed: bigint | null;
  readonly id: bigint | null;
  readonly record: string | null;
}

/** Reads what has to be delivered. @param awaitEntries as the port says */
export function webhookEntries(
  database: Database,
  callStore: CallStore,
  awaitEntries: ReadEntries['awaitEntries'],
): ReadEntries {
  const page = selectEntries(database);
  const pageStatement = semaphore(database, 'webhooks');
  const rowsOf = feedReader(database);
  const sharedRead = sharedRuns<Awaited<ReturnType<ReadEntries['readEntries']>>>();

  async function read({ changed, id }: Position) {
    const rows = await rowsOf(page({ changed, id }));
    return { epoch: rows[0].epoch, entries: rows.flatMap(entryOf) };
  }

  return {
    awaitEntries,
    /** Endpoints at one position share a statement, each in a call of its own. */
    readEntries: (after) =>
      callStore((call) => sharedRead(`${after.changed}/${after.id}`, () => pageStatement(() => read(after), call))),
  };
}

function entryOf({ changed, id, record }: Row): Entry[] {
  return changed === null || id === null ? [] : [{ changed, id, record: record ?? undefined }];
}

/** The epoch, and beside it each of the first rows after a position. The positions belong to that epoch only. */
function selectEntries({ sql: tables }: Database) {
  return statement<Position, Row>((parameter) => {
    const isAfter = sql`(changed, id) > (${parameter('changed')}::bigint, ${parameter('id')}::bigint)`;
    return sql<Row>`
      select epoch, is_intact, is_unnamed, page.changed, page.id, page.record
      from ${FEED_STATE} left join lateral (
        select changed, id, case when deleted is null then ${PLANT_JSON} end as record
        from (${firstRows(isAfter, sql.lit(PAGE_ROWS), sql.lit(READ_TEXT))}) as plant
      ) as page on true order by page.changed, page.id`.compile(tables);
  });
}
