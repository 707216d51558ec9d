import { PlantStoreError } from '../../../domain/errors.ts';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { selectRestored } from './change-statements.ts';

/**
 * Checks that the table can be read in the order of its changes.
 *
 * @throws PlantStoreError `changes_unavailable`, or SchemaError, saying what to do
 */
export async function requireChangeFeed({ sql, isDistributed }: Database): Promise<void> {
  if (await isDistributed()) {
    throw new PlantStoreError('changes_unavailable', 'there is no feed of changes: the table is distributed by Citus');
  }
  const { is_restored } = stateIn((await selectRestored.execute(sql)).rows);
  if (is_restored) {
    throw new SchemaError('the plants come from another server, whose transactions were ahead: run npm run migrate');
  }
}

/** The first of the rows that a statement over change_feed has returned. @throws SchemaError if there is none */
export function stateIn<Row>([state]: readonly Row[]): Row {
  if (state === undefined) throw new SchemaError('the table change_feed has no row: run npm run migrate');
  return state;
}
