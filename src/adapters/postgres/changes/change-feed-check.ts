import { PlantStoreError } from '../../../domain/errors.ts';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { type CheckedRow, selectState } from './change-statements.ts';

/**
 * Checks that the table can be read in the order of its changes.
 *
 * @throws PlantStoreError `changes_unavailable`, or SchemaError, saying what to do
 */
export async function requireChangeFeed(database: Database): Promise<void> {
  await requireOneServer(database);
  requireIntact((await selectState.execute(database.sql)).rows);
}

/** @throws PlantStoreError `changes_unavailable` */
export async function requireOneServer({ isDistributed }: Database): Promise<void> {
  if (await isDistributed()) {
    throw new PlantStoreError('changes_unavailable', 'there is no feed of changes: the table is distributed by Citus');
  }
}

/** @throws SchemaError if these rows of a statement over the state of the feed show that it cannot be read */
export function requireIntact<Row extends CheckedRow>(rows: readonly Row[]): asserts rows is readonly [Row, ...Row[]] {
  const [state] = rows;
  if (state === undefined) throw new SchemaError('the table change_feed has no row: run npm run migrate');
  if (!state.is_intact) {
    throw new SchemaError('the plants come from another server, or were restored in part: run npm run migrate');
  }
}
