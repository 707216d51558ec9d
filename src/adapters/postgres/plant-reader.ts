import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';
import type { FindPlant, ReadPlants } from '../../application/ports.ts';
import type { NewPlant } from '../../domain/plant.ts';
import { jsonEncoder } from '../../wire/json-encoder.ts';
import { NewPlant as NewPlantSchema } from '../../wire/schemas.ts';
import { batcher } from './batcher.ts';
import type { Database } from './database.ts';
import { batchOf } from './plant-batch.ts';
import {
  type PlantLines,
  type PlantRow,
  type RangeRequest,
  selectIds,
  selectLines,
  selectPlant,
  selectPlants,
  selectSized,
} from './plant-statements.ts';
import type { CallStore, StoreCall } from './store-call.ts';

/** Octets of text in the result of one statement, unless a single plant has more. */
const BATCH_TEXT = 1024 ** 2;

/** Ids in one statement. */
const FIND_IDS = 256;

/** Plants in one statement for several pages. A page of more is read alone. */
const PAGE_PLANTS = 1_001;

/** The part of the connections that single reads may use at once. */
const FIND_SHARE = 0.5;
/** The same of pages. */
const PAGE_SHARE = 0.5;
/** The same of long statements: they must leave most of the database to others. */
const LONG_SHARE = 0.1;
/** How long they pause while plants are being written, in durations of the last one: creates keep 0.8 of their rate. */
const PAUSE = 3;
/** At most, in milliseconds. */
const MAX_PAUSE = 100;

/**
 * Reads the table `plants`: single plants in groups, and ranges in the order of ids.
 *
 * @param isWriting whether plants are being written; there are pauses between long statements then
 */
export function plantReader(
  { sql, connections }: Database,
  callStore: CallStore,
  isWriting: () => boolean,
): FindPlant & ReadPlants {
  const rowsOf = async <T>(query: CompiledQuery<T>) => (await sql.executeQuery(query)).rows;

  const findInGroup = batcher<bigint, PlantRow | undefined>({
    async run(ids) {
      const [only = 0n] = ids;
      const query = ids.length === 1 ? selectPlant(only) : selectPlants(ids, BATCH_TEXT / FIND_IDS);
      const found = new Map((await rowsOf(query)).map((row) => [BigInt(row.id), row]));
      return ids.map((id) => found.get(id));
    },
    shouldRetryAlone: () => false,
    maxItems: FIND_IDS,
    maxSize: FIND_IDS,
    sizeOf: () => 1,
    maxRunning: Math.ceil(connections * FIND_SHARE),
  });

  const pageInGroup = batcher<RangeRequest, PlantLines>({
    run: (requests) => rowsOf(selectLines(requests, Math.floor(BATCH_TEXT / PAGE_PLANTS))),
    shouldRetryAlone: () => false,
    maxItems: PAGE_PLANTS,
    maxSize: PAGE_PLANTS,
    sizeOf: ({ count }) => count,
    maxRunning: Math.ceil(connections * PAGE_SHARE),
  });

  /** Milliseconds that the last long statement took. */
  let lastTook = 0;

  /** One long statement at a time, or few. */
  const turns = batcher<() => Promise<void>, void>({
    async run(works) {
      if (isWriting()) await delay(Math.min(PAUSE * lastTook, MAX_PAUSE));
      const start = performance.now();
      const results = await Promise.all(works.map((work) => work()));
      lastTook = performance.now() - start;
      return results;
    },
    shouldRetryAlone: () => false,
    maxItems: 1,
    maxSize: 1,
    sizeOf: () => 1,
    maxRunning: Math.ceil(connections * LONG_SHARE),
  });

  async function inTurn<Row>(query: CompiledQuery<Row>, call: StoreCall): Promise<readonly Row[]> {
    let rows: readonly Row[] = [];
    await turns(async () => {
      rows = await rowsOf(query);
    }, call);
    return rows;
  }

  async function linesOf(request: RangeRequest, call: StoreCall): Promise<PlantLines> {
    if (request.count <= PAGE_PLANTS && request.range.tag === undefined) return pageInGroup(request, call);
    const [lines] = await inTurn(selectLines([request], Math.floor(BATCH_TEXT / request.count)), call);
    return lines ?? NO_LINES;
  }

  return {
    find: (id) =>
      callStore(async (call) => {
        let row = await findInGroup(id, call);
        if (row?.name === null) [row] = await inTurn(selectPlant(id), call);
        return row && plantOf(row);
      }),

    readBatch: (range, count) =>
      callStore(async (call) => {
        // One more than wanted shows whether there are more.
        const lines = await linesOf({ range, count: count + 1 }, call);
        // The embedded database needs no I/O, so that a list would go on while no socket is served.
        if (connections === 1) await nextTurn();
        const batch = batchOf(lines, count);
        if (batch.isLast || batch.count > 0) return batch;
        // The first plant is a large one.
        const rows = await inTurn(selectSized(range, count + 1, BATCH_TEXT), call);
        const cut = rows.findIndex(({ name }, index) => name === null || index === count);
        const plants = (cut < 0 ? rows : rows.slice(0, cut)).map(plantOf);
        return {
          lines: plants.map(encode).join('\n'),
          count: plants.length,
          lastId: plants.at(-1)?.id,
          isLast: cut < 0,
        };
      }),

    readIds: (range, count) =>
      callStore(async (call) => {
        const rows = await inTurn(selectIds(range, count), call);
        return rows.map(({ id }) => BigInt(id));
      }),
  };
}

const NO_LINES: PlantLines = { lines: null, count: 0 };

const encode = jsonEncoder(NewPlantSchema);

function plantOf({ id, name, tag }: PlantRow): NewPlant {
  return { id: BigInt(id), name: name ?? '', ...(tag !== null && { tag }) };
}
