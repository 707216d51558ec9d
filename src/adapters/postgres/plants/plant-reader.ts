import type { CompiledQuery } from 'kysely';
import { rangeBehind } from '../../../application/list-plants.ts';
import type { LoadPlant, Order, PlantBatch, PlantRange, ReadPlants } from '../../../application/ports.ts';
import { batcher } from '../calls/batcher.ts';
import { maxRunning } from '../calls/connection-shares.ts';
import { longStatements } from '../calls/long-statements.ts';
import { semaphore } from '../calls/semaphore.ts';
import { arrayOf } from '../calls/statement.ts';
import type { CallState, CallStore } from '../calls/store-call.ts';
import type { Database } from '../database.ts';
import { mayBeAnothers } from '../failures.ts';
import { type PlantRow, READ_TEXT, storedIn } from './plant-columns.ts';
import {
  MORE_SCANNED,
  type PageRow,
  type RangeRow,
  selectPages,
  selectPlants,
  selectRange,
} from './plant-statements.ts';

/** Ids in one statement. */
const FIND_IDS = 256;

/** More octets than a plant can have. */
const ANY_SIZE = 2 ** 31 - 1;

/** Plants in one statement for several pages. A page of more is read alone. */
const PAGE_PLANTS = 1_000;

/** As how many plants a smaller page counts, since a statement may have to pass over deleted plants for each. */
const MIN_SIZE = 20;

/** Rows that one statement of a search looks at, which takes some 5 ms. */
const SEARCHED = 2_000;

/** A page to read. */
interface PageRead extends PlantRange {
  readonly count: number;
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
  const { sql, letRequestsArrive, isDistributed } = database;
  const rowsOf = async <T>(query: CompiledQuery<T>) => (await sql.executeQuery(query)).rows;
  const largeStatement = semaphore(database, 'large');
  const rowsOfLarge = <T>(query: CompiledQuery<T>, call: CallState) => largeStatement(() => rowsOf(query), call);
  const { rowsOfStream, rowsOfSearch } = longStatements(database, isWriting);
  const plantsById = selectPlants(sql);

  const findInGroup = batcher<bigint, PlantRow | undefined>({
    async run(ids) {
      const rows = await rowsOf(plantsById({ ids: arrayOf(ids), maxSize: Math.floor(READ_TEXT / ids.length) }));
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => found.get(id));
    },
    mayBeAnothers,
    maxItems: FIND_IDS,
    maxRunning: maxRunning(database, 'finds'),
    letRequestsArrive,
  });

  const pagesIn = (order: Order) => ({
    untagged: pagesBy(selectPages(sql, order, false)),
    tagged: pagesBy(selectPages(sql, order, true)),
  });
  const pages = { asc: pagesIn('asc'), desc: pagesIn('desc') };

  function pagesBy(select: ReturnType<typeof selectPages>) {
    const readInGroup = batcher<PageRead, PageRow>({
      run: (reads) => rowsOf(select(pagesValues(reads))),
      mayBeAnothers,
      maxItems: PAGE_PLANTS,
      maxSize: PAGE_PLANTS,
      sizeOf: ({ count }) => Math.max(count, MIN_SIZE),
      maxRunning: maxRunning(database, 'pages'),
      letRequestsArrive,
    });
    return async (read: PageRead, call: CallState): Promise<PageRow | undefined> =>
      mayShareStatement(read) ? readInGroup(read, call) : (await rowsOfStream(select(pagesValues([read])), call))[0];
  }

  /** Reads a part of a range by the shorter statement, which Citus cannot run. */
  async function readPage(read: PageRead, call: CallState): Promise<PageRow | undefined> {
    if (await isDistributed()) return undefined;
    const { untagged, tagged } = pages[read.order ?? 'asc'];
    return (read.tag === undefined ? untagged : tagged)(read, call);
  }

  /** @param scanned rows to scan at most */
  async function readRange(read: PageRead, scanned: number, call: CallState): Promise<RangeRow> {
    const isSearch = read.name !== undefined;
    const { order = 'asc' } = read;
    const kind = { order, isTagged: read.tag !== undefined, isSearch, isLimitHidden: !(await isDistributed()) };
    const query = selectRange(sql, kind)({ ...read, scanned, room: READ_TEXT });
    const rowsOfList = mayShareStatement(read) ? rowsOfLarge : rowsOfStream;
    const [row] = await (isSearch ? rowsOfSearch : rowsOfList)(query, call);
    if (row === undefined) throw new Error('an aggregate without a row');
    return row;
  }

  /** @param scanned rows to scan at most, if the plants do not fit the shorter statement */
  async function readList(read: PageRead, scanned: number): Promise<PlantBatch> {
    const row = await callStore(async (call) => {
      const page = await readPage(read, call);
      return page?.is_whole ? page : readRange(read, scanned, call);
    });
    return batchOf(row, read);
  }

  return {
    find: (id) =>
      callStore(async (call) => {
        let row = await findInGroup(id, call);
        // Too large to share a statement.
        if (row?.name === null) [row] = await rowsOfLarge(plantsById({ ids: arrayOf([id]), maxSize: ANY_SIZE }), call);
        return row && storedIn(row);
      }),

    async readBatch(range, count) {
      if (range.name !== undefined) {
        return batchOf(await callStore((call) => readRange({ ...range, count }, SEARCHED, call)), range);
      }
      // One more than wanted shows whether there are more.
      const batch = await readList({ ...range, count }, count + 1);
      if (batch.count > 0 || batch.isLast) return batch;
      // Deleted plants only.
      return readList({ ...rangeBehind(range, batch.lastId), count }, count + MORE_SCANNED);
    },
  };
}

/** True for pages. Parts of streams take long, and run on their own. */
function mayShareStatement({ count }: PageRead): boolean {
  return count <= PAGE_PLANTS;
}

function batchOf({ count, lines, last, is_last }: RangeRow, { from, to, order }: PlantRange): PlantBatch {
  const isEnd = last === (order === 'desc' ? from : to);
  return { lines: lines ?? '', count, lastId: last ?? undefined, isLast: is_last || isEnd };
}

function pagesValues(reads: readonly PageRead[]) {
  return {
    lows: arrayOf(reads.map(({ from }) => from)),
    highs: arrayOf(reads.map(({ to }) => to)),
    counts: arrayOf(reads.map(({ count }) => count)),
    tags: arrayOf(reads.map(({ tag = '' }) => tag)),
    maxSize: Math.floor(READ_TEXT / reads.reduce((total, { count }) => total + count, 0)),
  };
}
