import type { AddPlant } from '../../../application/ports.ts';
import { isSamePlant, type NewPlant } from '../../../domain/plant.ts';
import { batcher } from '../calls/batcher.ts';
import { maxRunning } from '../calls/connection-shares.ts';
import { statementOfList } from '../calls/statement.ts';
import type { CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { MissingRowError } from '../errors.ts';
import { mayBeAnothers } from '../failures.ts';
import { textLength, WRITTEN_TEXT } from './plant-columns.ts';
import type { PlantLookup } from './plant-lookup.ts';

interface InsertOptions {
  readonly callStore: CallStore;
  /** The maximum number of rows in one statement. */
  readonly batchRows: number;
  /** Called after each INSERT with the number of plants in it. */
  readonly onInsert: (plants: number) => void;
}

/** What an addition finds. */
type Found = Awaited<ReturnType<AddPlant['add']>>;

/** Adds plants in batches: one statement and one commit for all that arrived meanwhile. */
export function plantInserts(
  database: Database,
  lookUp: PlantLookup,
  { callStore, batchRows, onInsert }: InsertOptions,
) {
  const insert = insertInto(database);
  const addInBatch = batcher<NewPlant, Found>({
    run: insertBatch,
    mayBeAnothers,
    maxItems: batchRows,
    maxSize: WRITTEN_TEXT,
    sizeOf: textLength,
    maxRunning: maxRunning(database, 'inserts'),
    letRequestsArrive: database.letRequestsArrive,
  });
  // If an INSERT was lost, another holder of the id may have replaced the very plant that it stored.
  const add: AddPlant['add'] = (plant) =>
    callStore(
      (call) => addInBatch(plant, call),
      (found) => found === 'created' || (found !== 'deleted' && isSamePlant(found, plant)),
    );
  return { add, waiting: addInBatch.waiting, running: addInBatch.running };

  /** Inserts the first plant of each id that is free, and returns for every plant what it found. */
  async function insertBatch(plants: readonly NewPlant[]): Promise<readonly (Found | Promise<Found>)[]> {
    const firsts = new Map<bigint, NewPlant>();
    for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
    // In a fixed order: two statements that insert the same ids in different orders would deadlock.
    const sorted = [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    const { rows } = await database.sql.executeQuery(
      insert(sorted.map(({ id, name, tag }) => [id, name, tag ?? null])),
    );
    onInsert(plants.length);
    if (rows.length === plants.length) return plants.map(() => 'created');
    const inserted = new Set(rows.map(({ id }) => id));
    const others = [...firsts.keys()].filter((id) => !inserted.has(id));
    const lookingUp = others.length > 0 ? lookUp(others) : undefined;
    // What was inserted is not inserted again if the look-up fails: by then another plant may hold the id.
    await (inserted.size === 0 ? lookingUp : Promise.allSettled([lookingUp]));

    async function holderOf(id: bigint): Promise<Found> {
      const found = (await lookingUp)?.get(id);
      // Perhaps a deleted plant held the id, and was purged before the look-up: then it is stored when it runs alone.
      if (found === undefined) throw new MissingRowError(`plant ${id} was not stored: a trigger or a rule may drop it`);
      return found.stored;
    }

    const created = new Set(inserted);
    return plants.map(({ id }) => {
      if (!inserted.has(id)) return holderOf(id);
      // Of several plants with one id, the first was inserted, and holds the id whatever has changed since.
      return created.delete(id) ? 'created' : (firsts.get(id) as NewPlant);
    });
  }
}

function insertInto({ sql }: Database) {
  return statementOfList<readonly [id: bigint, name: string, tag: string | null], { readonly id: bigint }>((rows) =>
    sql
      .insertInto('plants')
      .values(rows.map(([id, name, tag]) => ({ id, name, tag })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .compile(),
  );
}
