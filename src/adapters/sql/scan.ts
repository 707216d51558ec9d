import { type PlantBatch, type PlantRange, rangeAfter } from '../../application/ports.ts';
import type { Session } from './dialect.ts';
import { plantIn } from './plant-rows.ts';
import type { PartReads } from './reads-in-parts.ts';
import type { Run } from './run.ts';
import { type ScanValues, scanStatements } from './scan-statements.ts';

/** Rows of a page; what has more is read in the background. */
const PAGE_ROWS = 1_001;

/** Reads ranges of plants in the order of their ids. */
export function plantScanner(run: Run): Pick<PartReads, 'plants' | 'count'> {
  const known = new Map<string, ReturnType<typeof scanStatements>>();

  function statementsFor(range: PlantRange) {
    const { order = 'asc', tag, name } = range;
    const kind = [order, tag === undefined, name === undefined].join();
    const statements = known.get(kind) ?? scanStatements(range);
    known.set(kind, statements);
    return statements;
  }

  async function readPage(session: Session, range: PlantRange, most: number): Promise<PlantBatch> {
    const count = Math.min(most, session.dialect.rows.returned);
    const { rows, isCut } = await statementsFor(range).page(session, valuesOf(range, { count }));
    const plants = rows.filter(({ deleted }) => deleted === null).map(plantIn);
    const next = isCut || rows.length === count ? unlessAtEnd(range, rows.at(-1)?.id) : undefined;
    if (next === undefined || 2 * plants.length >= rows.length) return { plants, next };
    const others = await search(session, rangeAfter(range, next), most - plants.length);
    return { plants: [...plants, ...others.plants], next: others.next };
  }

  /** Passes over deleted plants, and over those without the text. */
  async function search(session: Session, range: PlantRange, wanted: number): Promise<PlantBatch> {
    const { returned, passedOver, searched } = session.dialect.rows;
    const count = Math.min(wanted, returned);
    const most = range.name === undefined ? passedOver : searched;
    const rows = await statementsFor(range).search(session, valuesOf(range, { count, most }));
    const plants = rows.flatMap(({ name, ...row }) => (name === null ? [] : [plantIn({ ...row, name })]));
    const last = plants.length === count ? plants.at(-1)?.id : rows.find(({ name }) => name === null)?.id;
    return { plants, next: unlessAtEnd(range, last) };
  }

  return {
    plants: (range, count) =>
      range.name === undefined
        ? run(count <= PAGE_ROWS ? 'reads' : 'backgroundReads', (session) => readPage(session, range, count))
        : run('backgroundReads', (session) => search(session, range, count)),

    count: (range, wanted) =>
      run('backgroundReads', async (session) => {
        const { passedOver, searched } = session.dialect.rows;
        const most = Math.min(wanted, range.name === undefined ? passedOver : searched);
        const [row] = await statementsFor(range).count(session, valuesOf(range, { most }));
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
