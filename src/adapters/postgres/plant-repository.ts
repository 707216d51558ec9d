import { CompiledQuery, sql as fragment } from 'kysely';
import type { Ports } from '../../application/use-cases.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { batcher } from './batcher.ts';
import type { Database } from './database.ts';
import { isWorthTryingAlone, MissingRowError } from './errors.ts';
import { plantReader } from './plant-reader.ts';
import type { CallStore } from './store-call.ts';

interface PlantsOptions {
  readonly callStore: CallStore;
  /** Most rows in one statement. */
  readonly batchRows: number;
  /** Called with the number of plants in each INSERT, for metrics. */
  readonly onInsert?: (plants: number) => void;
}

/** The repository, and two counts for operators. */
interface PostgresPlants extends Ports {
  /** Plants that wait for a statement. */
  waiting(): number;
  /** Plants that its INSERTs have stored; without those of an INSERT whose connection was lost before its result came. */
  inserted(): number;
}

/** UTF-16 units of text in one statement: enough to fill a batch, little enough to parse in a moment. */
const BATCH_TEXT = 1_000_000;

/** The part of the connections that groups of plants may use at once; the others are for reads. */
const SHARE = 0.75;

/** Plants in the table `plants`, inserted in groups: one statement and one commit for all that came meanwhile. */
export function postgresPlants(database: Database, { callStore, batchRows, onInsert }: PlantsOptions): PostgresPlants {
  const insert = groupInsert(database);
  let inserted = 0;
  function count(plants: number, rows: number): void {
    inserted += rows;
    onInsert?.(plants);
  }
  const addInGroup = batcher<NewPlant, NewPlant>({
    run: (plants) => addTogether(database, insert, plants, count),
    isWorthTryingAlone,
    maxItems: batchRows,
    maxSize: BATCH_TEXT,
    sizeOf: ({ name, tag = '' }) => name.length + tag.length,
    maxRunning: Math.ceil(database.connections * SHARE),
  });

  return {
    ...plantReader(database, callStore),
    waiting: addInGroup.waiting,
    inserted: () => inserted,
    add: (plant) => callStore((call) => addInGroup(plant, call)),
  };
}

type GroupInsert = (plants: readonly NewPlant[]) => CompiledQuery;

/** Compiles the insert of so many rows once: the text depends on nothing else. */
function groupInsert({ sql }: Database): GroupInsert {
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

/** Inserts those whose id is free, the first of each id, and finds for every plant the record that holds its id. */
async function addTogether(
  { sql }: Database,
  insert: GroupInsert,
  plants: readonly NewPlant[],
  count: (plants: number, rows: number) => void,
): Promise<NewPlant[]> {
  let holders = new Map<bigint, NewPlant>();
  for (const plant of plants) if (!holders.has(plant.id)) holders.set(plant.id, plant);
  // Always in the same order: two statements that insert the same ids in different orders would deadlock.
  const rows = [...holders.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const { numAffectedRows } = await sql.executeQuery(insert(rows));
  count(plants.length, Number(numAffectedRows));
  if (numAffectedRows !== BigInt(rows.length)) {
    // A second statement, since the first one's snapshot cannot see the rows that made it skip some of its own.
    holders = await findAll(sql, [...holders.keys()]);
  }
  return plants.map(({ id }) => {
    const holder = holders.get(id);
    if (holder === undefined) throw new MissingRowError(`plant ${id} was not stored: a trigger or a rule may drop it`);
    return holder;
  });
}

/**
 * Makes the commit of the look-up, and so its response, wait for a synchronous standby if there is to be one: a row can
 * be visible and still be missing there, after a crash or an ended backend, and the loss of the primary would lose it.
 * Evaluated once, since it refers to no row.
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
