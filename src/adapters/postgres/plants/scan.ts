import { type PlantBatch, type PlantRange, rangeAfter } from '../../../application/ports.ts';
import type { NewPlant } from '../../../domain/plant.ts';
import type { PartReads } from '../../sql/reads-in-parts.ts';
import { batch } from '../batch.ts';
import type { Database } from '../database.ts';
import { readInParts } from '../in-parts.ts';
import { foreground, type LaneName, type Run } from '../run.ts';
import { plantIn } from './columns.ts';
import { type RangeScan, type ScanKind, type ScannedRow, selectRows } from './scan-statements.ts';

/** Rows that are looked at in one statement for several pages. A range of more is read alone, in the background. */
const PAGE_ROWS = 1_001;

/** As how many rows a smaller page counts, since it has a cost of its own. */
const MIN_SIZE = 20;

/** Rows that are passed over at most, where none of the first ones is wanted. */
const PASSED_OVER = 5_000;

/** Rows that one statement of a search looks at, which takes some 5 ms. */
const SEARCHED = 2_000;

/** Reads ranges of plants in the order of their ids. @param timeout milliseconds until a part is given up */
export function plantScanner(database: Database, run: Run, timeout: number): PartReads['plants'] {
  const { sql: tables, isDistributed } = database;
  const readers = new Map<string, ReturnType<typeof readerOf>>();
  let isOnCitus: boolean | undefined;

  function readerFor(kind: ScanKind) {
    const key = Object.values(kind).join();
    const reader = readers.get(key) ?? readerOf(kind);
    readers.set(key, reader);
    return reader;
  }

  function readerOf(kind: ScanKind) {
    const select = selectRows(tables, kind);
    const rowsOf = async (scans: readonly RangeScan[]) => (await tables.executeQuery(select(scans))).rows;
    /** Pages that are asked for at the same time share a statement. */
    const page = batch<RangeScan, readonly ScannedRow[]>(
      (list) =>
        readInParts(list, async (scans, options) => {
          const rows = await run('reads', () => rowsOf(scans), options);
          const byNumber = Map.groupBy(rows, ({ number }) => number);
          return scans.map((_scan, index) => byNumber.get(index + 1) ?? []);
        }),
      { maxItems: PAGE_ROWS, maxRunning: foreground(database), timeout },
      ({ count }) => Math.max(count, MIN_SIZE),
      PAGE_ROWS,
    );
    return { rowsOf, page };
  }

  /** Looks at the rows of a range. @returns also whether it has no more */
  async function readRows(scan: RangeScan, lane: LaneName, until: number) {
    isOnCitus ??= await run(lane, isDistributed, { until });
    const isShared = lane === 'reads' && scan.count <= PAGE_ROWS && !isOnCitus;
    const { order = 'asc', tag, name } = scan;
    const own = { order, isTagged: tag !== undefined, isSearch: name !== undefined, isShared: false, isOnCitus };
    const rows = isShared
      ? await readerFor({ ...own, isShared }).page(scan)
      : await run(lane, () => readerFor(own).rowsOf([scan]), { until });
    return { rows, isLast: lookedAt(rows) < scan.count };
  }

  return async (range, count) => {
    const until = performance.now() + timeout;
    const lane = range.name === undefined && count <= PAGE_ROWS ? 'reads' : 'backgroundReads';
    const read = async (part: PlantRange, most: number) => {
      const { rows, isLast } = await readRows({ ...part, count: most }, lane, until);
      return batchOf(rows, part, count, isLast);
    };
    if (range.name !== undefined) return read(range, SEARCHED);
    const first = await read(range, count);
    if (first.plants.length > 0 || first.next === undefined) return first;
    // Deleted plants only.
    return read(rangeAfter(range, first.next), PASSED_OVER);
  };
}

/** How many rows were looked at. */
function lookedAt(rows: readonly ScannedRow[]): number {
  return rows.at(-1)?.looked_at ?? rows.length;
}

/** The first wanted plants. */
function batchOf(rows: readonly ScannedRow[], range: PlantRange, count: number, isLast: boolean): PlantBatch {
  const plants: NewPlant[] = [];
  let lastId: bigint | undefined;
  let isCut = false;
  for (const { id, name, tag } of rows) {
    isCut = plants.length === count;
    if (isCut) break;
    if (name !== null) plants.push(plantIn({ id, name, tag }));
    lastId = id;
  }
  const isEnd = lastId === (range.order === 'desc' ? range.from : range.to);
  return { plants, next: isEnd || (isLast && !isCut) ? undefined : lastId };
}
