import { PlantStoreError } from '../../domain/errors.ts';
import { fieldRules, type NewPlant } from '../../domain/plant.ts';
import { type Cell, type CsvRecord, cellsOf, csvRecords } from './csv-records.ts';
import { type Entry, entry } from './entry.ts';
import type { Line } from './lines.ts';

const COLUMNS = ['id', 'name', 'tag'];

/** More digits than any int64 has, so that the domain's own rule refuses values out of range. */
const INTEGER = /^-?\d{1,30}$/;

/**
 * Reads a plant from each record after the header. As in Postgres's COPY, an empty cell is no value, and "" in quotes
 * is the empty string.
 *
 * @throws Error, saying what to do, if the header cannot be read, lacks `id` or `name`, or has one of the columns twice
 */
export async function* csvEntries(lines: AsyncIterable<readonly Line[]>): AsyncGenerator<readonly Entry[]> {
  let read: ((cells: readonly Cell[]) => NewPlant) | undefined;
  for await (const records of csvRecords(lines)) {
    const entries: Entry[] = [];
    for (const record of records) {
      const { number, lastNumber, bytes } = record;
      const readPlant = read;
      if (readPlant === undefined) read = plantReader(headerOf(record));
      else entries.push(entry(number, lastNumber, bytes, () => readPlant(cellsOf(record))));
    }
    yield entries;
  }
}

function headerOf(record: CsvRecord): Cell[] {
  try {
    return cellsOf(record);
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    throw new Error(`the first line cannot be read (${error.message}): it must name the columns, as in id,name,tag`);
  }
}

function plantReader(header: readonly Cell[]): (cells: readonly Cell[]) => NewPlant {
  const [idColumn = -1, nameColumn = -1, tagColumn = -1] = COLUMNS.map((column) => header.indexOf(column));
  const isTwice = (column: string) => header.indexOf(column) !== header.lastIndexOf(column);
  if (idColumn < 0 || nameColumn < 0 || COLUMNS.some(isTwice)) {
    throw new Error(`the first line must name the columns, as in id,name,tag; it is ${header.join()}`);
  }
  return (cells) => {
    if (cells.length !== header.length) {
      throw new PlantStoreError('invalid_plant', `there must be ${header.length} cells, but there are ${cells.length}`);
    }
    const [id = '', name, tag] = [cells[idColumn], cells[nameColumn], cells[tagColumn]];
    if (!INTEGER.test(id)) throw new PlantStoreError('invalid_plant', `id must be ${fieldRules.id}`);
    if (name === undefined)
      throw new PlantStoreError('invalid_plant', `name must be ${fieldRules.name}; write "" for an empty name`);
    return { id: BigInt(id), name, ...(tag !== undefined && { tag }) };
  };
}
