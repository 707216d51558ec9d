import { sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import { type PlantRow, storedIn } from '../../sql/plant-rows.ts';
import type { Database } from '../database.ts';
import { postgres } from '../dialect.ts';
import { statement } from '../statement.ts';
import type { FoundRow, RowChange } from './write-phases.ts';

type SelectedRow = PlantRow & { readonly changed: bigint };

/**
 * Makes the commit of this SELECT, and so its response, wait for the synchronous standby if one is configured: after a
 * crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary. Evaluated
 * once, since it refers to no row.
 */
const AWAIT_STANDBY = sql`(
  select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> ''
)`;

/** The statements of the phases in which plants are written. */
export function writeStatements({ sql: tables, isDistributed }: Database) {
  // Prepared: that saves a third of what one plant costs Postgres. It reads no table, so its plan stays right for every list.
  const insertFree = statement<Record<'ids' | 'names' | 'tags', readonly unknown[]>, { readonly id: bigint }>(
    (parameter) =>
      sql<{ readonly id: bigint }>`insert into plants (id, name, tag)
        select * from unnest(${parameter('ids')}::bigint[], ${parameter('names')}::text[], ${parameter('tags')}::text[])
        on conflict (id) do nothing returning id`.compile(tables),
    'insert_plants',
  );

  /** Citus would insert the rows of a SELECT shard by shard. */
  const insertOnCitus = (plants: readonly NewPlant[]) =>
    tables
      .insertInto('plants')
      .values(plants.map(({ id, name, tag = null }) => ({ id, name, tag })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute();

  const selectFound = statement<{ ids: readonly bigint[] }, SelectedRow>((parameter) =>
    sql<SelectedRow>`
      select id, name, tag, changed, deleted, ${AWAIT_STANDBY} as awaited
      from plants where id = any(${parameter('ids')}::bigint[]) and ${postgres.isCurrent}`.compile(tables),
  );

  // A row that somebody else has locked holds up no other, and no two such statements can deadlock. With FOR UPDATE, a
  // foreign key that refers to the row would lock it as well.
  const updateOf = statement<
    Record<'ids' | 'versions' | 'names' | 'tags' | 'deletions', readonly unknown[]>,
    { id: bigint }
  >((parameter) =>
    sql<{ id: bigint }>`
        with current as (
          select wanted.* from unnest(
            ${parameter('ids')}::bigint[], ${parameter('versions')}::bigint[], ${parameter('names')}::text[],
            ${parameter('tags')}::text[], ${parameter('deletions')}::boolean[]
          ) as wanted (id, version, name, tag, is_deleted) join plants on plants.id = wanted.id
          where plants.deleted is null and plants.changed = wanted.version
          for no key update of plants skip locked
        )
        update plants set name = current.name, tag = current.tag, deleted = case when current.is_deleted then now() end,
          changed = default
        from current where plants.id = current.id returning plants.id`.compile(tables),
  );

  async function updateTogether(changes: readonly RowChange[]): Promise<Set<bigint>> {
    const after = changes.map(contentAfter);
    const { rows } = await tables.executeQuery(
      updateOf({
        ids: changes.map(({ before }) => before.id),
        versions: changes.map(({ version }) => version),
        names: after.map(({ name }) => name),
        tags: after.map(({ tag }) => tag),
        deletions: changes.map((change) => change.after === 'deleted'),
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
    const { name, tag } = contentAfter(change);
    const { rows } = await sql<{ id: bigint }>`
      update plants set name = ${name}, tag = ${tag}, deleted = ${after === 'deleted' ? sql`now()` : null},
        changed = default
      where id = ${before.id} and deleted is null and changed = ${version} and name = ${before.name}
        and tag is not distinct from ${before.tag ?? null} returning id`.execute(tables);
    return idsOf(rows);
  }

  return {
    /** Inserts the plants whose ids are free, in one statement. @returns their ids */
    async insert(plants: readonly NewPlant[]): Promise<Set<bigint>> {
      // In a fixed order: two statements that insert the same ids in different orders would deadlock.
      const sorted = plants.length === 1 ? plants : [...plants].sort((a, b) => (a.id < b.id ? -1 : 1));
      if (await isDistributed()) return idsOf(await insertOnCitus(sorted));
      const { rows } = await tables.executeQuery(
        insertFree({
          ids: sorted.map(({ id }) => id),
          names: sorted.map(({ name }) => name),
          tags: sorted.map(({ tag = null }) => tag),
        }),
      );
      return idsOf(rows);
    },

    /**
     * Finds the rows with some ids. The snapshot is later than every statement before it, and what is found is durable. Ids
     * that are free are left out.
     */
    async lookUp(ids: readonly bigint[]): Promise<ReadonlyMap<bigint, FoundRow>> {
      const { rows } = await tables.executeQuery(selectFound({ ids: [...new Set(ids)] }));
      return new Map(rows.map((row) => [row.id, { stored: storedIn(row), version: row.changed }]));
    },

    /** Updates the rows that are still as they were found, and are not locked; on Citus one at most. @returns their ids */
    update: async (changes: readonly RowChange[]): Promise<Set<bigint>> =>
      (await isDistributed()) ? updateOneOnCitus(changes[0] as RowChange) : updateTogether(changes),
  };
}

function idsOf(rows: readonly { readonly id: bigint }[]): Set<bigint> {
  return new Set(rows.map(({ id }) => id));
}

/** A deleted plant leaves a row without content, which keeps its id taken. */
function contentAfter({ after }: RowChange): { readonly name: string; readonly tag: string | null } {
  return after === 'deleted' ? { name: '', tag: null } : { name: after.name, tag: after.tag ?? null };
}
