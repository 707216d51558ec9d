import { CompiledQuery } from 'kysely';
import type { AddPlant } from '../../application/ports.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { batcher } from './batcher.ts';
import type { Database } from './database.ts';
import { MissingRowError, shouldRetryAlone } from './errors.ts';
import { lookUp } from './plant-lookup.ts';
import type { Int8 } from './plant-statements.ts';
import type { CallStore } from './store-call.ts';

interface InsertOptions {
  readonly callStore: CallStore;
  /** The maximum number of rows in one statement. */
  readonly batchRows: number;
  /** Called after each INSERT with the number of plants in it and the number of rows that it stored. */
  readonly onInsert: (plants: number, rows: number) => void;
}

/** UTF-16 units of text in one statement: enough to fill a batch, little enough for Postgres to parse quickly. */
const BATCH_TEXT = 1_000_000;

/** The share of the connections that batches may use at once; the others are for reads. */
const SHARE = 0.75;

/** Adds plants in batches: one statement and one commit for all that arrived meanwhile. */
export function plantInserts(database: Database, { callStore, batchRows, onInsert }: InsertOptions) {
  const insert = compiledInserts(database);
  const addInBatch = batcher<NewPlant, NewPlant | 'deleted'>({
    run: (plants) => insertBatch(database, insert, plants, onInsert),
    shouldRetryAlone,
    maxItems: batchRows,
    maxSize: BATCH_TEXT,
    sizeOf: ({ name, tag = '' }) => name.length + tag.length,
    maxRunning: Math.ceil(database.connections * SHARE),
  });
  const add: AddPlant['add'] = (plant) => callStore((call) => addInBatch(plant, call));
  return { add, waiting: addInBatch.waiting, running: addInBatch.running };
}

type BatchInsert = (plants: readonly NewPlant[]) => CompiledQuery<{ readonly id: Int8 }>;

/** Compiles the insert for each number of rows once: its text depends on nothing else. */
function compiledInserts({ sql }: Database): BatchInsert {
  const texts: string[] = [];
  return (plants) => {
    texts[plants.length] ??= sql
      .insertInto('plants')
      .values(plants.map(({ id, name }) => ({ id, name, tag: null })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .compile().sql;
    const parameters = plants.flatMap(({ id, name, tag }) => [id, name, tag ?? null]);
    return CompiledQuery.raw(texts[plants.length] as string, parameters);
  };
}

/** Inserts the first plant of each id that is free, and returns for every plant what holds its id. */
async function insertBatch(
  database: Database,
  insert: BatchInsert,
  plants: readonly NewPlant[],
  onInsert: InsertOptions['onInsert'],
  isRepeated = false,
): Promise<readonly (NewPlant | 'deleted')[]> {
  const firsts = new Map<bigint, NewPlant>();
  for (const plant of plants) if (!firsts.has(plant.id)) firsts.set(plant.id, plant);
  // In a fixed order: two statements that insert the same ids in different orders would deadlock.
  const rows = [...firsts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const { rows: inserted } = await database.sql.executeQuery(insert(rows));
  onInsert(plants.length, inserted.length);
  if (inserted.length === plants.length) return plants;
  const holders = inserted.length === rows.length ? firsts : await holdersOf(database, firsts, inserted);
  const missing = rows.find(({ id }) => !holders.has(id));
  if (missing === undefined) return plants.flatMap(({ id }) => holders.get(id) ?? []);
  if (isRepeated) {
    throw new MissingRowError(`plant ${missing.id} was not stored: a trigger or a rule may drop it`);
  }
  // A deleted plant held its id, and was purged before the look-up.
  return insertBatch(database, insert, plants, onInsert, true);
}

/** What holds each id: the plant itself if it was inserted, whatever has become of it since. */
async function holdersOf(
  database: Database,
  plants: ReadonlyMap<bigint, NewPlant>,
  inserted: readonly { readonly id: Int8 }[],
): Promise<ReadonlyMap<bigint, NewPlant | 'deleted'>> {
  const own = new Map(plants);
  for (const { id } of inserted) own.delete(BigInt(id));
  const found = await lookUp(database, [...own.keys()]);
  return new Map(
    [...plants].flatMap(([id, plant]) => {
      const holder = own.has(id) ? found.get(id) : plant;
      return holder === undefined ? [] : [[id, holder] as const];
    }),
  );
}
