import type { AddPlant } from '../../../application/ports.ts';
import { isSamePlant, type NewPlant } from '../../../domain/plant.ts';
import { batcher } from '../calls/batcher.ts';
import { maxRunning } from '../calls/connection-shares.ts';
import { statementOfList } from '../calls/statement.ts';
import type { CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { MissingRowError } from '../errors.ts';
import { shouldRetryAlone } from '../failures.ts';
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

/** The same; rejects if the look-up has failed. */
type Holder = Found | Promise<Found>;

/** UTF-16 units of text in one statement: enough to fill a batch, little enough for Postgres to parse quickly. */
const BATCH_TEXT = 1_000_000;

/** Adds plants in batches: one statement and one commit for all that arrived meanwhile. */
export function plantInserts(
  database: Database,
  lookUp: PlantLookup,
  { callStore, batchRows, onInsert }: InsertOptions,
) {
  const insert = insertInto(database);
  const addInBatch = batcher<NewPlant, Found>({
    run: (plants) => insertBatch(plants),
    shouldRetryAlone,
    maxItems: batchRows,
    maxSize: BATCH_TEXT,
    sizeOf: ({ name, tag = '' }) => name.length + tag.length,
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
  async function insertBatch(plants: readonly NewPlant[], isRepeated = false): Promise<readonly Holder[]> {
    const firsts = new Map<bigint, NewPlant>();
    for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
    // In a fixed order: two statements that insert the same ids in different orders would deadlock.
    const sorted = [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    const { rows } = await database.sql.executeQuery(
      insert(sorted.map(({ id, name, tag }) => [id, name, tag ?? null])),
    );
    onInsert(plants.length);
    if (rows.length === plants.length) return plants.map(() => 'created');
    const created = new Set(rows.map(({ id }) => id));
    // A plant that this INSERT has stored holds its id, whatever has become of it since.
    const holders = new Map<bigint, Holder>(rows.map(({ id }) => [id, firsts.get(id) as NewPlant]));
    try {
      const others = [...firsts.keys()].filter((id) => !holders.has(id));
      if (others.length > 0) for (const [id, { stored }] of await lookUp(others)) holders.set(id, stored);
      const missing = plants.filter(({ id }) => !holders.has(id));
      if (missing.length > 0) {
        if (isRepeated)
          throw new MissingRowError(`plant ${missing[0]?.id} was not stored: a trigger or a rule may drop it`);
        // A deleted plant held the id, and was purged before the look-up.
        const repeated = await insertBatch(missing, true);
        for (const [index, plant] of missing.entries()) {
          const found = repeated[index] as Holder;
          if (found === 'created') created.add(plant.id);
          holders.set(plant.id, found === 'created' ? plant : found);
        }
      }
    } catch (error) {
      if (rows.length === 0) throw error;
      // What was inserted is not inserted again: by then another plant may hold the id.
      for (const id of firsts.keys()) if (!holders.has(id)) holders.set(id, Promise.reject(error));
    }
    // Of several plants with one id, the first was inserted.
    return plants.map(({ id }) => (created.delete(id) ? 'created' : (holders.get(id) as Holder)));
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
