import { PlantStoreError } from '../../../domain/errors.ts';
import type { Database } from '../database.ts';
import { SchemaError } from '../errors.ts';
import { selectRestored } from './change-statements.ts';

export const NO_STATE = 'the table change_feed has no row: run npm run migrate';

/**
 * Checks that the table can be read in the order of its changes.
 *
 * @throws PlantStoreError `changes_unavailable`, or SchemaError, saying what to do
 */
export async function requireChangeFeed({ sql, isDistributed }: Database): Promise<void> {
  if (await isDistributed()) {
    throw new PlantStoreError('changes_unavailable', 'there is no feed of changes: the table is distributed by Citus');
  }
  const { rows } = await selectRestored.execute(sql);
  const [state] = rows;
  if (state === undefined) throw new SchemaError(NO_STATE);
  if (state.is_restored) {
    throw new SchemaError('the plants come from another server, whose transactions were ahead: run npm run migrate');
  }
}
