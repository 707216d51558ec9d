import { sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import type { IdRow, Session } from '../dialect.ts';
import { contentAfter, type PlantRow, type RowChange, storedIn } from '../plant-rows.ts';
import { statement } from '../statement.ts';
import type { FoundRow } from './phases.ts';

type SelectedRow = PlantRow & { readonly changed: bigint };

const int8 = (index: number) => sql`cast(value ->> ${sql.lit(index)} as bigint)`;
const text = (index: number) => sql`value ->> ${sql.lit(index)}`;

// Prepared: it reads no table, so its plan stays right for every list.
const insertFree = statement<{ plants: readonly unknown[] }, IdRow>(
  (parameter, { items, change }) => sql<IdRow>`insert into plants (id, name, tag ${change.column})
    select ${int8(0)}, ${text(1)}, ${text(2)} ${change.ofInsert} from ${items(parameter('plants'))} as item where true
    on conflict (id) do nothing returning id`,
  'insert_plants',
);

const selectFound = statement<{ ids: readonly bigint[] }, SelectedRow>(
  (
    parameter,
    { isOneOf, isCurrent, awaitStandby },
  ) => sql<SelectedRow>`select id, name, tag, deleted, changed, ${awaitStandby} as awaited
    from plants where ${isOneOf(sql`id`, parameter('ids'))} and ${isCurrent}`,
);

// A row that somebody else has locked holds up no other, and no two such statements can deadlock.
const updateFound = statement<{ changes: readonly unknown[] }, IdRow>(
  (parameter, { items, change, clock, lock }) => sql<IdRow>`with wanted as (
      select ${int8(0)} as wanted_id, ${int8(1)} as version, ${text(2)} as new_name, ${text(3)} as new_tag,
        ${text(4)} as deletion
      from ${items(parameter('changes'))} as item
    ), current as (
      select wanted.* from wanted join plants on plants.id = wanted_id
      where plants.deleted is null and plants.changed = version ${lock('plants')}
    )
    update plants set name = new_name, tag = new_tag, deleted = case when deletion is not null then ${clock.now} end,
      changed = ${change.ofUpdate}
    from current where plants.id = wanted_id returning id`,
);

/** Inserts the plants whose ids are free, in one statement. @returns their ids */
export async function insert(session: Session, plants: readonly NewPlant[]): Promise<Set<bigint>> {
  // In a fixed order: two statements that insert the same ids in different orders would deadlock.
  const sorted = plants.length === 1 ? plants : [...plants].sort((a, b) => (a.id < b.id ? -1 : 1));
  const { distributed } = session.dialect;
  if (distributed !== undefined) return idsOf((await distributed.insert(sorted).execute(session.sql)).rows);
  return idsOf(await insertFree(session, { plants: sorted.map(({ id, name, tag = null }) => [id, name, tag]) }));
}

/**
 * Finds the rows with some ids. The snapshot is later than every statement before it, and what is found is durable. Ids that
 * are free are left out.
 */
export async function lookUp(session: Session, ids: readonly bigint[]): Promise<ReadonlyMap<bigint, FoundRow>> {
  const rows = await selectFound(session, { ids: [...new Set(ids)] });
  return new Map(rows.map((row) => [row.id, { stored: storedIn(row), version: row.changed }]));
}

/** Updates the rows that are still as they were found, and are not locked; of a distributed table one at most. @returns their ids */
export async function update(session: Session, changes: readonly RowChange[]): Promise<Set<bigint>> {
  const { distributed } = session.dialect;
  if (distributed !== undefined) {
    return idsOf((await distributed.update(changes[0] as RowChange).execute(session.sql)).rows);
  }
  return idsOf(
    await updateFound(session, {
      changes: changes.map((change) => {
        const { name, tag } = contentAfter(change);
        return [change.before.id, change.version, name, tag, change.after === 'deleted' ? '' : null];
      }),
    }),
  );
}

function idsOf(rows: readonly IdRow[]): Set<bigint> {
  return new Set(rows.map(({ id }) => id));
}
