import { sql as fragment } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import { arrayOf, statement } from '../calls/statement.ts';
import type { Database } from '../database.ts';
import { FAIL_ON_STANDBY, isDeleted, type PlantRow, storedIn } from './plant-columns.ts';

/** The content of a row, and its version: the transaction that wrote it last, another one after every change. */
export interface FoundPlant {
  readonly stored: NewPlant | 'deleted';
  readonly version: bigint;
}

/**
 * Makes the commit of this SELECT, and so its response, wait for the synchronous standby if one is configured: after a
 * crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary. Evaluated
 * once, since it refers to no row.
 */
const AWAIT_STANDBY = fragment`(
  select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> ''
)`;

/**
 * Creates the look-up of the rows with some ids. Its snapshot is later than every statement before it, and the rows
 * that it resolves to are durable. Ids that are free are left out.
 */
export function plantLookup({ sql }: Database) {
  const selectFound = statement<{ ids: string }, PlantRow & { readonly changed: bigint }>((parameter) =>
    sql
      .selectFrom('plants')
      .select(['id', 'name', 'tag', 'changed', AWAIT_STANDBY.as('awaited')])
      .select(isDeleted)
      .where('id', '=', fragment<bigint>`any(${parameter('ids')}::bigint[])`)
      .where(FAIL_ON_STANDBY)
      .compile(),
  );

  return async (ids: readonly bigint[]): Promise<ReadonlyMap<bigint, FoundPlant>> => {
    const { rows } = await sql.executeQuery(selectFound({ ids: arrayOf(ids) }));
    return new Map(rows.map((row) => [row.id, { stored: storedIn(row), version: row.changed }]));
  };
}

export type PlantLookup = ReturnType<typeof plantLookup>;
