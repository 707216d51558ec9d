import { CompiledQuery, sql as fragment } from 'kysely';
import type { Ports } from '../../application/use-cases.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { batcher } from './batcher.ts';
import type { Database } from './database.ts';
import { MissingRowError, shouldRetryAlone } from './errors.ts';
import { plantReader } from './plant-reader.ts';
import type { CallStore } from './store-call.ts';

interface PlantsOptions {
  readonly callStore: CallStore;
  /** The maximum number of rows in one statement. */
  readonly batchRows: number;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: (plants: number) => void;
}

export interface PostgresPlants extends Ports {
  /** Plants waiting for a statement. */
  waiting(): number;
  /** Plants stored by its INSERTs, except those of an INSERT whose connection was lost before its result came. */
  inserted(): number;
}

/** UTF-16 units of text in one statement: enough to fill a batch, little enough for Postgres to parse quickly. */
const BATCH_TEXT = 1_000_000;

/** The share of the connections that batches may use at once; the others are for reads. */
const BATCH_CONNECTIONS = 0.75;

/** Plants in the table `plants`, inserted in batches: one statement and one commit for all that arrived meanwhile. */
export function postgresPlants(database: Database, { callStore, batchRows, onInsert }: PlantsOptions): PostgresPlants {
  const insert = compiledInserts(database);
  let inserted = 0;
  function count(plants: number, rows: number): void {
    inserted += rows;
    onInsert?.(plants);
  }
  const addInBatch = batcher<NewPlant, NewPlant>({
    run: (plants) => insertBatch(database, insert, plants, count),
    shouldRetryAlone,
    maxItems: batchRows,
    maxSize: BATCH_TEXT,
    sizeOf: ({ name, tag = '' }) => name.length + tag.length,
    maxRunning: Math.ceil(database.connections * BATCH_CONNECTIONS),
  });

  return {
    ...plantReader(database, callStore, () => addInBatch.running() > 0),
    waiting: addInBatch.waiting,
    inserted: () => inserted,
    add: (plant) => callStore((call) => addInBatch(plant, call)),
  };
}

type BatchInsert = (plants: readonly NewPlant[]) => CompiledQuery;

/** Compiles the insert for each number of rows once: its text depends on nothing else. */
function compiledInserts({ sql }: Database): BatchInsert {
  const texts: string[] = [];
  return (plants) => {
    texts[plants.length] ??= sql
      .insertInto('plants')
      .values(plants.map(({ id, name }) => ({ id, name, tag: null })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .compile().sql;
    const parameters = plants.flatMap(({ id, name, tag }) => [id, name, tag ?? null]);
    return CompiledQuery.raw(texts[plants.length] as string, parameters);
  };
}

/** Inserts the first plant of each id that is free, and returns for every plant the record that holds its id. */
async function insertBatch(
  { sql }: Database,
  insert: BatchInsert,
  plants: readonly NewPlant[],
  count: (plants: number, rows: number) => void,
): Promise<NewPlant[]> {
  let holders = new Map<bigint, NewPlant>();
  for (const plant of plants) if (!holders.has(plant.id)) holders.set(plant.id, plant);
  // In a fixed order: two statements that insert the same ids in different orders would deadlock.
  const rows = [...holders.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const { numAffectedRows } = await sql.executeQuery(insert(rows));
  count(plants.length, Number(numAffectedRows));
  if (numAffectedRows !== BigInt(rows.length)) {
    // A second statement, since the first one's snapshot does not include the rows that made it skip some of its own.
    holders = await findAll(sql, [...holders.keys()]);
  }
  return plants.map(({ id }) => {
    const holder = holders.get(id);
    if (holder === undefined) throw new MissingRowError(`plant ${id} was not stored: a trigger or a rule may drop it`);
    return holder;
  });
}

/**
 * Makes the commit of this SELECT, and so its response, wait for the synchronous standby if one is configured: after a
 * crash or a terminated backend, a row can be visible yet missing there, and would be lost with the primary. Evaluated
 * once, since it refers to no row.
 */
const AWAIT_STANDBY = fragment`(
  select pg_logical_emit_message(true, '', '') where current_setting('synchronous_standby_names') <> ''
)`;

async function findAll(sql: Database['sql'], ids: readonly bigint[]): Promise<Map<bigint, NewPlant>> {
  const rows = await sql
    .selectFrom('plants')
    .select(['id', 'name', 'tag', AWAIT_STANDBY.as('awaited')])
    .where('id', 'in', ids)
    .execute();
  return new Map(rows.map(({ id, name, tag }) => [BigInt(id), { id: BigInt(id), name, ...(tag !== null && { tag }) }]));
}
