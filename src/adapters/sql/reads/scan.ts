import { type PlantBatch, type PlantRange, rangeAfter } from '../../../application/ports.ts';
import { type BatchOptions, batch } from '../batch.ts';
import type { Session } from '../dialect.ts';
import { type PlantRow, plantIn } from '../plant-rows.ts';
import type { Executor, LaneName } from '../run.ts';
import { readItems } from '../split-on-failure.ts';
import type { PartResult } from '../statement.ts';
import { type ScanStatements, type ScanValues, scanStatements } from './scan-statements.ts';

/** Rows of all pages of a statement together. A page that has more is read alone, in the background. */
const PAGES_ROWS_MAX = 1_001;

interface Reader extends ScanStatements {
  /** Reads a page. Pages that are requested at the same time share a statement. */
  readonly pageInBatch: (page: ScanValues) => Promise<PartResult<PlantRow>>;
}

/** Reads ranges of plants in the order of their ids. */
export function plantScanner(executor: Executor, options: BatchOptions) {
  const { run } = executor;
  const readers = new Map<string, Reader>();

  function readerOf(range: PlantRange): Reader {
    const kind = [range.order, range.tag === undefined, range.name === undefined].join();
    const reader = readers.get(kind) ?? newReader(range);
    readers.set(kind, reader);
    return reader;
  }

  function newReader(kind: PlantRange): Reader {
    const statements = scanStatements(kind);

    async function readPages(session: Session, pages: readonly ScanValues[]): Promise<PartResult<PlantRow>[]> {
      if (session.dialect.forEach !== undefined && pages.length > 1) {
        const rows = Map.groupBy(await statements.pages(session, pages), ({ number }) => Number(number));
        return pages.map((_page, index) => ({ rows: rows.get(index + 1) ?? [] }));
      }
      const results: PartResult<PlantRow>[] = [];
      for (const page of pages) results.push(await statements.page(session, page));
      return results;
    }

    const pageInBatch = batch<ScanValues, PartResult<PlantRow>>(
      (take) => readItems(executor, take(), readPages),
      { ...options, maxSize: PAGES_ROWS_MAX },
      ({ count }) => count,
    );
    return { ...statements, pageInBatch };
  }

  async function page(range: PlantRange, count: number): Promise<PlantBatch> {
    const reader = readerOf(range);
    const values = valuesOf(range, count);
    const lane = count <= PAGES_ROWS_MAX ? 'reads' : 'backgroundReads';
    const { rows, isCut } = await (lane === 'reads'
      ? reader.pageInBatch(values)
      : run(lane, (session) => reader.page(session, values)));
    const plants = rows.filter(({ deleted }) => deleted === null).map(plantIn);
    const next = isCut || rows.length === count ? unlessAtEnd(range, rows.at(-1)?.id) : undefined;
    if (next === undefined || 2 * plants.length >= rows.length) return { plants, next };
    const rest = await search(lane, rangeAfter(range, next), count - plants.length);
    return { plants: [...plants, ...rest.plants], next: rest.next };
  }

  /** Passes over deleted plants, and over those without the text. */
  const search = (lane: LaneName, range: PlantRange, count: number): Promise<PlantBatch> =>
    run(lane, async (session) => {
      const reader = readerOf(range);
      const [end] = await reader.end(session, valuesOf(range, scannedRowsMax(session, range)));
      const part = end === undefined ? range : { ...range, [range.order === 'desc' ? 'from' : 'to']: end.id };
      const { rows, isCut } = await reader.search(session, valuesOf(part, count));
      const last = isCut || rows.length === count ? rows.at(-1) : end;
      return { plants: rows.map(plantIn), next: unlessAtEnd(range, last?.id) };
    });

  return {
    plants: (range: PlantRange, count: number) =>
      range.name === undefined ? page(range, count) : search('backgroundReads', range, count),

    count: (range: PlantRange, count: number) =>
      run('backgroundReads', async (session) => {
        const most = Math.min(count, scannedRowsMax(session, range));
        const [row] = await readerOf(range).count(session, valuesOf(range, most));
        const isCut = Number(row?.scanned) === most;
        return { count: Number(row?.count), next: isCut ? unlessAtEnd(range, row?.last ?? undefined) : undefined };
      }),
  };
}

function scannedRowsMax({ dialect }: Session, { name }: PlantRange): number {
  return name === undefined ? dialect.scannedRowsMax : dialect.scannedRowsMax / 10;
}

function valuesOf({ from, to, tag = '', name = '' }: PlantRange, count: number): ScanValues {
  return { low: from, high: to, tag, name, count };
}

function unlessAtEnd({ from, to, order }: PlantRange, id: bigint | undefined): bigint | undefined {
  return id === (order === 'desc' ? from : to) ? undefined : id;
}
