import { sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import type { Database } from '../database.ts';
import { arrayOf, statement } from '../statement.ts';
import { FAIL_ON_STANDBY, idsOf, isDeleted, type PlantRow, storedIn } from './columns.ts';

/** The content of a row, and its version: the transaction that wrote it last, another one after every change. */
export interface FoundPlant {
  readonly stored: NewPlant | 'deleted';
  readonly version: bigint;
}

/** What becomes of a row that has been found. */
export interface RowChange {
  readonly before: NewPlant;
  readonly version: bigint;
  readonly after: NewPlant | 'deleted';
}

/**
 * Makes the commit of this SELECT, and so its response, wait for the synchronous standby if one is configured: after a
 * crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary. Evaluated
 * once, since it refers to no row.
 */
const AWAIT_STANDBY = sql`(
  select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> ''
)`;

/** The statements that change plants, and the look-up before them. Each update returns the ids of the rows it has changed. */
export function updateStatements({ sql: tables }: Database) {
  const selectFound = statement<{ ids: string }, PlantRow & { readonly changed: bigint }>((parameter) =>
    tables
      .selectFrom('plants')
      .select(['id', 'name', 'tag', 'changed', AWAIT_STANDBY.as('awaited')])
      .select(isDeleted)
      .where('id', '=', sql<bigint>`any(${parameter('ids')}::bigint[])`)
      .where(FAIL_ON_STANDBY)
      .compile(),
  );

  const updateOf = statement<Record<'ids' | 'versions' | 'names' | 'tags' | 'deletions', string>, { id: bigint }>(
    (parameter) => {
      const wanted = sql<{ id: bigint; version: bigint; name: string; tag: string | null; is_deleted: boolean }>`unnest(
        ${parameter('ids')}::bigint[], ${parameter('versions')}::bigint[], ${parameter('names')}::text[],
        ${parameter('tags')}::text[], ${parameter('deletions')}::boolean[])`;
      return tables
        .with('current', (database) =>
          database
            .selectFrom(wanted.as<'wanted'>(sql`wanted (id, version, name, tag, is_deleted)`))
            .innerJoin('plants', 'plants.id', 'wanted.id')
            .where('plants.deleted', 'is', null)
            .whereRef('plants.changed', '=', 'wanted.version')
            .selectAll('wanted')
            // A row that somebody else has locked holds up no other, and no two such statements can deadlock. With FOR
            // UPDATE, a foreign key that refers to the row would lock it as well.
            .forNoKeyUpdate('plants')
            .skipLocked(),
        )
        .updateTable('plants')
        .from('current')
        .set((eb) => ({
          name: eb.ref('current.name'),
          tag: eb.ref('current.tag'),
          deleted: sql<Date | null>`case when current.is_deleted then now() end`,
          changed: sql<bigint>`default`,
        }))
        .whereRef('plants.id', '=', 'current.id')
        .returning('plants.id')
        .compile();
    },
  );

  async function updateTogether(changes: readonly RowChange[]): Promise<Set<bigint>> {
    const after = changes.map(contentAfter);
    const { rows } = await tables.executeQuery(
      updateOf({
        ids: arrayOf(changes.map(({ before }) => before.id)),
        versions: arrayOf(changes.map(({ version }) => version)),
        names: arrayOf(after.map(({ name }) => name)),
        tags: arrayOf(after.map(({ tag }) => tag)),
        deletions: arrayOf(changes.map((change) => change.after === 'deleted')),
      }),
    );
    return idsOf(rows);
  }

  /**
   * Citus counts transactions on each of its servers, so that a row that was moved may have the same version again: the
   * content is compared, too.
   */
  async function updateOneOnCitus(change: RowChange): Promise<Set<bigint>> {
    const { before, version, after } = change;
    const rows = await tables
      .updateTable('plants')
      .set({
        ...contentAfter(change),
        changed: sql<bigint>`default`,
        ...(after === 'deleted' && { deleted: sql<Date>`now()` }),
      })
      .where('id', '=', before.id)
      .where('deleted', 'is', null)
      .where('changed', '=', sql<bigint>`${version}`)
      .where('name', '=', before.name)
      .where('tag', 'is not distinct from', before.tag ?? null)
      .returning('id')
      .execute();
    return idsOf(rows);
  }

  return {
    /**
     * Finds the rows with some ids. The snapshot is later than every statement before it, and what is found is durable. Ids
     * that are free are left out.
     */
    async lookUp(ids: readonly bigint[]): Promise<ReadonlyMap<bigint, FoundPlant>> {
      const { rows } = await tables.executeQuery(selectFound({ ids: arrayOf([...new Set(ids)]) }));
      return new Map(rows.map((row) => [row.id, { stored: storedIn(row), version: row.changed }]));
    },

    /** Updates the rows that are still as they were found, and are not locked; on Citus one at most. */
    async update(changes: readonly RowChange[], isOnCitus: boolean): Promise<Set<bigint>> {
      return isOnCitus ? updateOneOnCitus(changes[0] as RowChange) : updateTogether(changes);
    },
  };
}

/** A deleted plant leaves a row without content, which keeps its id taken. */
function contentAfter({ after }: RowChange): { readonly name: string; readonly tag: string | null } {
  return after === 'deleted' ? { name: '', tag: null } : { name: after.name, tag: after.tag ?? null };
}
