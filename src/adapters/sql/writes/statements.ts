import { sql } from 'kysely';
import type { Session } from '../dialect.ts';
import { contentAfter, type PlantRow, storedIn } from '../plant-rows.ts';
import { columnsOf, statement } from '../statement.ts';
import { afterInsert, afterLookUp, afterUpdate, type Pending, plantsToInsert, rowChanges } from './phases.ts';

type SelectedRow = PlantRow & { readonly changed: bigint };

const int8 = (index: number) => sql`cast(value ->> ${sql.lit(index)} as bigint)`;
const text = (index: number) => sql`value ->> ${sql.lit(index)}`;

// Prepared: it reads no table, so its plan stays right for every list.
const insertFree = statement<{ plants: readonly unknown[] }, Pick<PlantRow, 'id'>>((parameter, { items, inserted }) => {
  const { names, values } = columnsOf({ id: int8(0), name: text(1), tag: text(2), ...inserted });
  return sql<
    Pick<PlantRow, 'id'>
  >`insert into plants (${names}) select ${values} from ${items(parameter('plants'))} as item where true
      on conflict (id) do nothing returning id`;
}, 'insert_plants');

const selectFound = statement<{ ids: readonly bigint[] }, SelectedRow>(
  (
    parameter,
    { isOneOf, isCurrent, awaitStandby },
  ) => sql<SelectedRow>`select id, name, tag, deleted, changed, ${awaitStandby} as awaited
    from plants where ${isOneOf(sql`id`, parameter('ids'))} and ${isCurrent}`,
);

// A row that somebody else has locked holds up no other, and no two such statements can deadlock.
const updateFound = statement<{ changes: readonly unknown[] }, Pick<PlantRow, 'id'>>(
  (parameter, { items, changedByUpdate, clock, lock }) => sql<Pick<PlantRow, 'id'>>`with items as (
      select ${int8(0)} as item_id, ${int8(1)} as version, ${text(2)} as new_name, ${text(3)} as new_tag,
        ${text(4)} as deletion
      from ${items(parameter('changes'))} as item
    ), current as (
      select items.* from items join plants on plants.id = item_id
      where plants.deleted is null and plants.changed = version ${lock('plants')}
    )
    update plants set name = new_name, tag = new_tag, deleted = case when deletion is not null then ${clock.now} end,
      changed = ${changedByUpdate}
    from current where plants.id = item_id returning id`,
);

/** Executes the statement of each phase. Each function returns the list after it. */
export const statements = {
  /** Inserts the plants whose ids are free, in one statement. */
  async insert(session: Session, list: readonly Pending[]): Promise<Pending[]> {
    const plants = plantsToInsert(list);
    // In a fixed order: two statements that insert the same ids in different orders would deadlock.
    if (plants.length > 1) plants.sort((a, b) => (a.id < b.id ? -1 : 1));
    const { insert } = session.dialect;
    const rows = insert
      ? (await insert(plants).execute(session.sql)).rows
      : await insertFree(session, { plants: plants.map(({ id, name, tag = null }) => [id, name, tag]) });
    return afterInsert(list, idsOf(rows));
  },

  /** Finds the rows of ids that are taken. Its snapshot is later than all statements before it, and what it finds is durable. */
  async lookUp(session: Session, list: readonly Pending[]): Promise<Pending[]> {
    const ids = list.flatMap(({ call, state }) => (state.at === 'lookUp' ? [call.item.id] : []));
    const rows = await selectFound(session, { ids: [...new Set(ids)] });
    const rowsById = new Map(rows.map((row) => [row.id, { stored: storedIn(row), version: row.changed }]));
    return afterLookUp(list, rowsById, performance.now());
  },

  /** Updates the rows that are still as they were found, and are not locked: one at most if the dialect has `updateRow`. */
  async update(session: Session, list: readonly Pending[]): Promise<Pending[]> {
    const changes = rowChanges(list);
    const [first] = changes;
    if (first === undefined) return afterUpdate(list, new Set());
    const { updateRow } = session.dialect;
    const rows = updateRow
      ? (await updateRow(first).execute(session.sql)).rows
      : await updateFound(session, {
          changes: changes.map((change) => {
            const { name, tag } = contentAfter(change);
            return [change.before.id, change.version, name, tag, change.after === 'deleted' ? '' : null];
          }),
        });
    const ids = idsOf(rows);
    return afterUpdate(list, new Set(changes.map(({ before }) => before.id).filter((id) => !ids.has(id))));
  },
};

function idsOf(rows: readonly Pick<PlantRow, 'id'>[]): Set<bigint> {
  return new Set(rows.map(({ id }) => id));
}
