import type { CompiledQuery } from 'kysely';
import type { Database } from '../database.ts';
import { requireIntact, requireOneServer } from './change-feed-check.ts';
import type { StateRow } from './change-statements.ts';
import { nameTimeline } from './feed-identity.ts';

/**
 * Creates the way to read the feed, for its consumers and for webhooks.
 *
 * @returns a function that runs a statement over the state of the feed, under the identity that this timeline has or gets.
 * It rejects as requireChangeFeed does
 */
export function feedReader(database: Database) {
  async function checkedRows<Row extends StateRow>(query: CompiledQuery<Row>) {
    const { rows } = await database.sql.executeQuery(query);
    requireIntact(rows);
    return rows;
  }

  return async <Row extends StateRow>(query: CompiledQuery<Row>): Promise<readonly [Row, ...Row[]]> => {
    await requireOneServer(database);
    const rows = await checkedRows(query);
    if (!rows[0].is_unnamed) return rows;
    await nameTimeline.execute(database.sql);
    return checkedRows(query);
  };
}
