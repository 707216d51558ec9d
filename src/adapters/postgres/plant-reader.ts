import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { CompiledQuery } from 'kysely';
import type { FindPlant, PlantBatch, PlantRange, ReadPlants } from '../../application/ports.ts';
import { jsonEncoder } from '../../wire/json-encoder.ts';
import { NewPlant as NewPlantSchema } from '../../wire/schemas.ts';
import { batcher } from './batcher.ts';
import type { IsDistributed } from './citus.ts';
import type { Database } from './database.ts';
import { isLostNode } from './errors.ts';
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
  storedIn,
} from './plant-statements.ts';
import type { CallStore, StoreCall } from './store-call.ts';
import { turns } from './turns.ts';

/** Octets of text in the result of one statement, unless a single plant has more. */
const BATCH_TEXT = 1024 ** 2;

/** Ids in one statement. */
const FIND_IDS = 256;

/** Plants in one statement for several pages. A page of more is read alone. */
const PAGE_PLANTS = 1_001;

/** Rows in a statement that goes on after deleted plants: of those there may be many, and few may be wanted. */
const AMONG_DELETED = 5_000;

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
  isDistributed: IsDistributed,
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
    shouldRetryAlone: isLostNode,
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
  const inTurn = turns(Math.ceil(connections * LONG_SHARE), () =>
    isWriting() ? delay(Math.min(PAUSE * lastTook, MAX_PAUSE)) : undefined,
  );

  function inTurnRowsOf<Row>(query: CompiledQuery<Row>, call: StoreCall): Promise<Row[]> {
    return inTurn(async () => {
      const start = performance.now();
      const rows = await rowsOf(query);
      lastTook = performance.now() - start;
      // The embedded database needs no I/O: one after another, they would let no socket be served.
      if (connections === 1) await nextTurn();
      return rows;
    }, call);
  }

  async function linesOf(request: RangeRequest, call: StoreCall): Promise<PlantLines> {
    if (request.count <= PAGE_PLANTS && request.range.tag === undefined) return pageInGroup(request, call);
    const [lines] = await inTurnRowsOf(selectLines([request], Math.floor(BATCH_TEXT / request.count)), call);
    return lines ?? NO_LINES;
  }

  /** Reads rows that may all be those of deleted plants. @param most how many, if the first plant is a large one */
  async function scan(range: PlantRange, count: number, most: number, call: StoreCall): Promise<PlantBatch> {
    const distributed = await isDistributed();
    if (!distributed) {
      // One more than wanted shows whether there are more.
      const lines = await linesOf({ range, count: count + 1 }, call);
      const batch = batchOf(lines, count, range.to);
      if (batch.lastId !== undefined || batch.isLast) return batch;
    }
    // The first plant is a large one, or Citus could not run that statement.
    const rows = await inTurnRowsOf(selectSized(range, most, BATCH_TEXT, distributed), call);
    let found = 0;
    const cut = rows.findIndex(({ name, is_deleted }) => name === null || (!is_deleted && ++found > count));
    const scanned = cut < 0 ? rows : rows.slice(0, cut);
    const plants = scanned.map(storedIn).filter((stored) => typeof stored === 'object');
    return {
      lines: plants.map(encode).join('\n'),
      count: plants.length,
      lastId: scanned.map(({ id }) => BigInt(id)).at(-1),
      isLast: cut < 0 && rows.length < most,
    };
  }

  return {
    find: (id) =>
      callStore(async (call) => {
        let row = await findInGroup(id, call);
        if (row?.name === null) [row] = await inTurnRowsOf(selectPlant(id), call);
        return row && storedIn(row);
      }),

    async readBatch(range, count) {
      let most = count + 1;
      for (let { from } = range; ; ) {
        const batch = await callStore((call) => scan({ ...range, from }, count, most, call));
        if (batch.count > 0 || batch.isLast || batch.lastId === undefined) return batch;
        from = batch.lastId + 1n;
        most = Math.max(most, AMONG_DELETED);
      }
    },

    async readIds(range, count) {
      const ids: bigint[] = [];
      let most = count;
      for (let { from } = range; ; ) {
        const rows = await callStore(async (call) =>
          inTurnRowsOf(selectIds({ ...range, from }, most, await isDistributed()), call),
        );
        for (const { id, is_deleted } of rows) if (!is_deleted && ids.length < count) ids.push(BigInt(id));
        const last = rows.at(-1);
        if (ids.length === count || rows.length < most || last === undefined) return ids;
        from = BigInt(last.id) + 1n;
        if (from > range.to) return ids;
        most = Math.max(count - ids.length, AMONG_DELETED);
      }
    },
  };
}

const NO_LINES: PlantLines = { lines: null, count: 0, reached: null };

const encode = jsonEncoder(NewPlantSchema);
