import type { CompiledQuery } from 'kysely';
import type { LoadPlant, PlantBatch, PlantRange, ReadPlants } from '../../../application/ports.ts';
import { batcher } from '../calls/batcher.ts';
import { longStatements } from '../calls/semaphore.ts';
import { arrayOf } from '../calls/statement.ts';
import type { CallStore, StoreCall } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { isLostNode } from '../failures.ts';
import { type PlantRow, storedIn } from './plant-columns.ts';
import { type RangeRow, selectDistributedRange, selectPlants, selectRanges } from './plant-statements.ts';

/** Octets of text in the result of one statement, unless a single plant has more. */
const BATCH_TEXT = 1024 ** 2;

/** Ids in one statement. */
const FIND_IDS = 256;

/** More octets than a plant can have. */
const ANY_SIZE = 2 ** 31 - 1;

/** Plants in one statement for several pages. A page of more is read alone. */
const PAGE_PLANTS = 1_000;

/** Rows that a statement scans beyond those it is asked for, once there are deleted plants among them. */
const MORE_SCANNED = 5_000;

/** The part of the connections that statements for single plants may use, and that those for pages may use. */
const SHARE = 0.5;

/** A range to read. */
interface RangeRead {
  readonly range: PlantRange;
  readonly count: number;
  /** Rows to scan at most. */
  readonly scanned: number;
}

/**
 * Reads the table `plants`: single plants in groups, and ranges in the order of ids.
 *
 * @param isWriting whether plants are being written
 */
export function plantReader(
  database: Database,
  callStore: CallStore,
  isWriting: () => boolean,
): LoadPlant & ReadPlants {
  const { sql, connections, gather, isDistributed } = database;
  const rowsOf = async <T>(query: CompiledQuery<T>) => (await sql.executeQuery(query)).rows;
  const rowsOfLong = longStatements(database, isWriting);
  const plantsById = selectPlants(sql);
  const ranges = { untagged: selectRanges(sql, false), tagged: selectRanges(sql, true) };
  const distributed = { untagged: selectDistributedRange(sql, false), tagged: selectDistributedRange(sql, true) };

  const findInGroup = batcher<bigint, PlantRow | undefined>({
    async run(ids) {
      const rows = await rowsOf(plantsById({ ids: arrayOf(ids), maxSize: Math.floor(BATCH_TEXT / ids.length) }));
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => found.get(id));
    },
    shouldRetryAlone: isLostNode,
    maxItems: FIND_IDS,
    maxRunning: Math.ceil(connections * SHARE),
    gather,
  });

  const readInGroup = batcher<RangeRead, RangeRow>({
    run: (reads) => rowsOf(ranges.untagged({ ...valuesOf(reads), isAlone: false })),
    maxItems: PAGE_PLANTS,
    maxSize: PAGE_PLANTS,
    sizeOf: ({ count }) => count,
    maxRunning: Math.ceil(connections * SHARE),
    gather,
  });

  async function readAlone(read: RangeRead, call: StoreCall): Promise<RangeRow> {
    const statements = (await isDistributed()) ? distributed : ranges;
    const select = read.range.tag === undefined ? statements.untagged : statements.tagged;
    const [row] = await rowsOfLong(select({ ...valuesOf([read]), isAlone: true }), call);
    return row ?? NOTHING;
  }

  async function readRange(range: PlantRange, count: number, call: StoreCall): Promise<RangeRow> {
    const isShared = count <= PAGE_PLANTS && range.tag === undefined && !(await isDistributed());
    const read = (scanned: number) => (isShared ? readInGroup : readAlone)({ range, count, scanned }, call);
    // One more than wanted shows whether there are more.
    let row = await read(count + 1);
    if (row.found < count && row.end !== null) row = await read(count + MORE_SCANNED);
    if (row.count > 0 || row.found === 0) return row;
    // The first one is too large to share a statement.
    return readAlone({ range, count, scanned: count + 1 + MORE_SCANNED }, call);
  }

  return {
    find: (id) =>
      callStore(async (call) => {
        let row = await findInGroup(id, call);
        // Too large to share a statement.
        if (row?.name === null) [row] = await rowsOfLong(plantsById({ ids: arrayOf([id]), maxSize: ANY_SIZE }), call);
        return row && storedIn(row);
      }),

    async readBatch(range, count) {
      for (let { from } = range; ; ) {
        const row = await callStore((call) => readRange({ ...range, from }, count, call));
        const batch = batchOf(row);
        if (batch.count > 0 || batch.isLast || batch.lastId === undefined) return batch;
        from = batch.lastId + 1n;
      }
    },
  };
}

const NOTHING: RangeRow = { found: 0, count: 0, lines: null, last: null, end: null };

function valuesOf(reads: readonly RangeRead[]) {
  return {
    lows: arrayOf(reads.map(({ range }) => range.from)),
    highs: arrayOf(reads.map(({ range }) => range.to)),
    counts: arrayOf(reads.map(({ count }) => count)),
    scans: arrayOf(reads.map(({ scanned }) => scanned)),
    tag: reads[0]?.range.tag,
    room: Math.floor(BATCH_TEXT / reads.length),
  };
}

function batchOf({ found, count, lines, last, end }: RangeRow): PlantBatch {
  // What has no room, or is one more than wanted, was scanned, too.
  const lastId = found > count ? last : (end ?? last);
  return { lines: lines ?? '', count, lastId: lastId ?? undefined, isLast: found === count && end === null };
}
