import { type PlantBatch, type PlantRange, rangeAfter } from '../../../application/ports.ts';
import { type BatchOptions, batch } from '../batch.ts';
import type { Session } from '../dialect.ts';
import { type PlantRow, plantIn } from '../plant-rows.ts';
import type { Executor, LaneName } from '../run.ts';
import { readList } from '../split-on-failure.ts';
import type { PartResult } from '../statement.ts';
import { type ScanValues, scanStatements } from './scan-statements.ts';

/** Rows of a page, and of all pages of a statement together; what has more is read alone, in the background. */
const PAGE_ROWS = 1_001;

/** A smaller page counts as so many rows, since each page has a cost of its own. */
const MIN_SIZE = 20;

/** Reads ranges of plants in the order of their ids. */
export function plantScanner(executor: Executor, options: BatchOptions) {
  const { run } = executor;
  const readers = new Map<string, ReturnType<typeof readerOf>>();

  function readerFor(range: PlantRange) {
    const kind = [range.order, range.tag === undefined, range.name === undefined].join();
    const reader = readers.get(kind) ?? readerOf(range);
    readers.set(kind, reader);
    return reader;
  }

  function readerOf(kind: PlantRange) {
    const statements = scanStatements(kind);

    async function readPages(session: Session, pages: readonly ScanValues[]): Promise<PartResult<PlantRow>[]> {
      if (session.dialect.forEach !== undefined && pages.length > 1) {
        const rows = Map.groupBy(await statements.pages(session, pages), ({ number }) => Number(number));
        return pages.map((_page, index) => ({ rows: rows.get(index + 1) ?? [] }));
      }
      const all: PartResult<PlantRow>[] = [];
      for (const page of pages) all.push(await statements.page(session, page));
      return all;
    }

    /** Pages that are asked for at the same time share a statement. */
    const shared = batch<ScanValues, PartResult<PlantRow>>(
      (take) => readList(executor, take(), readPages),
      { ...options, maxItems: PAGE_ROWS },
      ({ count }) => Math.max(count, MIN_SIZE),
      PAGE_ROWS,
    );
    return { ...statements, shared };
  }

  async function page(range: PlantRange, count: number): Promise<PlantBatch> {
    const reader = readerFor(range);
    const values = valuesOf(range, { count });
    const lane = count <= PAGE_ROWS ? 'reads' : 'backgroundReads';
    const { rows, isCut } = await (lane === 'reads'
      ? reader.shared(values)
      : run(lane, (session) => reader.page(session, values)));
    const plants = rows.filter(({ deleted }) => deleted === null).map(plantIn);
    const next = isCut || rows.length === count ? unlessAtEnd(range, rows.at(-1)?.id) : undefined;
    if (next === undefined || 2 * plants.length >= rows.length) return { plants, next };
    const others = await search(lane, rangeAfter(range, next), count - plants.length);
    return { plants: [...plants, ...others.plants], next: others.next };
  }

  /** Passes over deleted plants, and over those without the text. */
  const search = (lane: LaneName, range: PlantRange, count: number): Promise<PlantBatch> =>
    run(lane, async (session) => {
      const most = session.dialect.scannedRowsMax[range.name === undefined ? 'passingOver' : 'comparing'];
      const { rows, isCut } = await readerFor(range).search(session, valuesOf(range, { count, most }));
      const plants = rows.flatMap(({ name, ...row }) => (name === null ? [] : [plantIn({ ...row, name })]));
      const last = isCut || plants.length === count ? plants.at(-1) : rows.find(({ name }) => name === null);
      return { plants, next: unlessAtEnd(range, last?.id) };
    });

  return {
    plants: (range: PlantRange, count: number) =>
      range.name === undefined ? page(range, count) : search('backgroundReads', range, count),

    count: (range: PlantRange, wanted: number) =>
      run('backgroundReads', async (session) => {
        const most = Math.min(
          wanted,
          session.dialect.scannedRowsMax[range.name === undefined ? 'passingOver' : 'comparing'],
        );
        const [row] = await readerFor(range).count(session, valuesOf(range, { most }));
        const isCut = Number(row?.scanned) === most;
        return { count: Number(row?.count), next: isCut ? unlessAtEnd(range, row?.last ?? undefined) : undefined };
      }),
  };
}

function valuesOf({ from, to, tag = '', name = '' }: PlantRange, rows: Partial<ScanValues>): ScanValues {
  return { low: from, high: to, tag, name, count: 0, most: 0, ...rows };
}

function unlessAtEnd({ from, to, order }: PlantRange, id: bigint | undefined): bigint | undefined {
  return id === (order === 'desc' ? from : to) ? undefined : id;
}
