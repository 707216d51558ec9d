import { sql } from 'kysely';
import type { NewPlant } from '../../../domain/plant.ts';
import { statement } from '../calls/statement.ts';
import type { Database } from '../database.ts';
import type { FoundPlant } from './plant-lookup.ts';

/** What becomes of a row. */
export interface RowChange {
  readonly id: bigint;
  /** The content and version that were found; undefined if the row is changed in any case. */
  readonly before: FoundPlant | undefined;
  readonly after: NewPlant | 'deleted';
}

/** Updates rows. @returns the ids of those that were still as they had been found, and were not locked */
export type Update = (rows: readonly RowChange[]) => Promise<ReadonlySet<bigint>>;

/** A change as the columns of a row of JSON. */
interface WantedRow {
  readonly id: bigint;
  readonly version: bigint | null;
  readonly name: string;
  readonly tag: string | null;
  readonly is_deleted: boolean;
}

/** Updates any number of rows in one statement. */
export function rowUpdates({ sql: tables }: Database): Update {
  const update = statement<{ rows: string }, { readonly id: bigint }>((parameter) => {
    const rows = sql<WantedRow>`json_to_recordset(${parameter('rows')}::json)`;
    const wanted = sql`wanted (id bigint, version bigint, name text, tag text, is_deleted boolean)`;
    return tables
      .with('current', (database) =>
        database
          .selectFrom(rows.as<'wanted'>(wanted))
          .innerJoin('plants', 'plants.id', 'wanted.id')
          .where('plants.deleted', 'is', null)
          .where((eb) => eb.or([eb('version', 'is', null), eb('plants.changed', '=', eb.ref('version'))]))
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
  });
  return async (rows) => {
    const text = JSON.stringify(rows.map(wantedOf), (_, value) => (typeof value === 'bigint' ? `${value}` : value));
    return idsOf(await tables.executeQuery(update({ rows: text })));
  };
}

/**
 * Updates one row, on Citus. Its servers count transactions separately, so that a row that was moved may have the same
 * version again: the content is compared, too.
 */
export function distributedUpdate({ sql: tables }: Database): Update {
  return async ([row]) => {
    if (row === undefined) return new Set();
    const { id, version, name, tag, is_deleted } = wantedOf(row);
    let update = tables
      .updateTable('plants')
      .set({ name, tag, changed: sql<bigint>`default`, ...(is_deleted && { deleted: sql<Date>`now()` }) })
      .where('id', '=', id)
      .where('deleted', 'is', null)
      .returning('id');
    if (typeof row.before?.stored === 'object') {
      const { stored } = row.before;
      update = update
        .where('changed', '=', sql<bigint>`${version}`)
        .where('name', '=', stored.name)
        .where('tag', 'is not distinct from', stored.tag ?? null);
    }
    return idsOf({ rows: await update.execute() });
  };
}

/** A deleted plant leaves a row without content, which keeps its id taken. */
function wantedOf({ id, before, after }: RowChange): WantedRow {
  const { name, tag = null } = after === 'deleted' ? { name: '', tag: null } : after;
  return { id, version: before?.version ?? null, name, tag, is_deleted: after === 'deleted' };
}

function idsOf({ rows }: { readonly rows: readonly { readonly id: bigint }[] }): ReadonlySet<bigint> {
  return new Set(rows.map(({ id }) => id));
}
