import { sql } from 'kysely';
import type { Write, Written } from '../../../application/ports.ts';
import { isSamePlant, type NewPlant } from '../../../domain/plant.ts';
import type { Database } from '../database.ts';
import { statement } from '../statement.ts';
import { FAIL_ON_STANDBY, idsOf, type PlantRow, storedIn } from './columns.ts';

/** What was found under ids, and its version: the transaction that wrote it last, another one after every change. */
type Found = ReadonlyMap<bigint, { readonly stored: NewPlant | 'deleted'; readonly version: bigint }>;

type FoundRow = PlantRow & { readonly changed: bigint };

/** What becomes of a row that has been found. */
interface RowChange {
  readonly before: NewPlant;
  readonly version: bigint;
  readonly after: NewPlant | 'deleted';
}

/** Decides what one UPDATE makes of the rows that were found. Several writes of one plant take effect in their order. */
export function planChanges(writes: readonly Write[], found: Found) {
  // What is found may have been stored by an INSERT of this list whose response was lost.
  const additionsFirst = writes.toSorted((a, b) => Number(b.adds) - Number(a.adds));
  const latest = new Map<bigint, NewPlant | 'deleted'>();
  const outcomeOf = ({ id, target, replaces, until = Number.POSITIVE_INFINITY }: Write): Written | undefined => {
    // One that nobody waits for any more does nothing: what was found may be a later change, acknowledged since.
    if (performance.now() >= until) return undefined;
    const before = latest.get(id) ?? found.get(id)?.stored;
    if (typeof before !== 'object' || !replaces(before) || isSamePlant(before, target))
      return { before, after: before };
    latest.set(id, target);
    return { before, after: target };
  };
  const changeOf = ([id, after]: [bigint, NewPlant | 'deleted']): RowChange[] => {
    const { stored: before, version } = found.get(id) ?? {};
    return typeof before !== 'object' || version === undefined || isSamePlant(before, after)
      ? []
      : [{ before, version, after }];
  };
  /** What is stored before and after each write, once the rows are updated; undefined for those that are given up. */
  const outcomes = new Map(additionsFirst.map((write) => [write, outcomeOf(write)]));
  return { outcomes, rows: [...latest].flatMap(changeOf) };
}

/**
 * Makes the commit of this SELECT, and so its response, wait for the synchronous standby if one is configured: after a
 * crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary. Evaluated
 * once, since it refers to no row.
 */
const AWAIT_STANDBY = sql`(
  select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> ''
)`;

/** The statements that change plants, and the look-up before them. */
export function plantChanger({ sql: tables, isDistributed }: Database) {
  const selectFound = statement<{ ids: readonly bigint[] }, FoundRow>((parameter) =>
    sql<FoundRow>`
      select id, name, tag, changed, deleted is not null as is_deleted, ${AWAIT_STANDBY} as awaited
      from plants where id = any(${parameter('ids')}::bigint[]) and ${FAIL_ON_STANDBY}`.compile(tables),
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
    /**
     * Finds the rows with some ids. The snapshot is later than every statement before it, and what is found is durable. Ids
     * that are free are left out.
     *
     * @returns also whether each change needs a statement of its own
     */
    async lookUp(ids: readonly bigint[]) {
      const isOnCitus = await isDistributed();
      const { rows } = await tables.executeQuery(selectFound({ ids: [...new Set(ids)] }));
      const found: Found = new Map(rows.map((row) => [row.id, { stored: storedIn(row), version: row.changed }]));
      return { found, isOnCitus };
    },

    /** Updates the rows that are still as they were found, and are not locked; on Citus one at most. @returns their ids */
    update: async (changes: readonly RowChange[]): Promise<Set<bigint>> =>
      (await isDistributed()) ? updateOneOnCitus(changes[0] as RowChange) : updateTogether(changes),
  };
}

/** A deleted plant leaves a row without content, which keeps its id taken. */
function contentAfter({ after }: RowChange): { readonly name: string; readonly tag: string | null } {
  return after === 'deleted' ? { name: '', tag: null } : { name: after.name, tag: after.tag ?? null };
}
