import type { CompiledQuery } from 'kysely';
import type { Position } from '../../../application/ports.ts';
import { type FeedEnd, LAST, positionOf, START } from '../../feed/change-cursor.ts';
import type { FeedPart, FeedReader, FeedRow } from '../../feed/feed-reader.ts';
import type { Database } from '../database.ts';
import { READ_TEXT, storedIn } from '../plants/columns.ts';
import { requireIntact, requireOneServer } from './change-feed-check.ts';
import { type ChangeRow, type EndRow, selectChanges, selectEnd } from './change-statements.ts';
import { nameTimeline } from './feed-identity.ts';

/**
 * Reads the feed, for its consumers and for webhooks, under the identity that this timeline has or gets. Its functions
 * reject as requireChangeFeed does.
 */
export function feedReader(database: Database): FeedReader {
  const changesBetween = selectChanges(database.sql);
  const end = selectEnd(database.sql);

  async function checkedRows<Row extends EndRow>(query: CompiledQuery<Row>): Promise<readonly [Row, ...Row[]]> {
    const { rows } = await database.sql.executeQuery(query);
    requireIntact(rows);
    return rows;
  }

  async function rowsOf<Row extends EndRow>(query: CompiledQuery<Row>): Promise<readonly [Row, ...Row[]]> {
    await requireOneServer(database);
    const rows = await checkedRows(query);
    if (!rows[0].is_unnamed) return rows;
    await nameTimeline.execute(database.sql);
    return checkedRows(query);
  }

  return {
    /** Reads up to `count` rows, of about a mebibyte of text, after a position and up to another one. */
    async part(after: Position, count: number, until = LAST): Promise<FeedPart> {
      const range = { afterChanged: after.changed, afterId: after.id, untilChanged: until.changed, untilId: until.id };
      const rows = await rowsOf(changesBetween({ ...range, count, room: READ_TEXT }));
      return { end: endIn(rows[0]), rows: rows.flatMap(feedRow) };
    },
    /** Where the feed ends now: whatever is committed later comes after that. */
    end: async (): Promise<FeedEnd> => endIn((await rowsOf(end({})))[0]),
  };
}

function endIn(row: EndRow): FeedEnd {
  return { ...row, position: positionOf(row.end_changed, row.end_id) ?? START };
}

/** A row without a position stands beside the state of the feed if the part is empty. */
function feedRow({ changed, id, ...row }: ChangeRow): FeedRow[] {
  return changed === null || id === null ? [] : [{ changed, id, stored: storedIn({ ...row, id }) }];
}
