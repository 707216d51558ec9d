import { PlantStoreError } from '../../domain/errors.ts';
import { fieldRules, type NewPlant } from '../../domain/plant.ts';
import { type Cell, cellsOf, csvRecords } from './csv-records.ts';
import { type Entry, entry } from './entry.ts';
import type { Line } from './lines.ts';

const COLUMNS = ['id', 'name', 'tag'];

/** More digits than any int64 has, so that the domain's rule is what refuses it. */
const INTEGER = /^-?\d{1,30}$/;

/**
 * Reads a plant from each record after the first, which names the columns. As in Postgres's COPY, an empty cell is no
 * value, and "" in quotes is the empty text.
 *
 * @throws Error, saying what to do, if the first record does not name `id` and `name`, or one of the columns twice
 */
export async function* csvEntries(lines: AsyncIterable<readonly Line[]>): AsyncGenerator<readonly Entry[]> {
  let read: ((cells: readonly Cell[]) => NewPlant) | undefined;
  for await (const records of csvRecords(lines)) {
    const entries: Entry[] = [];
    for (const record of records) {
      const { number, bytes } = record;
      const readPlant = read;
      if (readPlant === undefined) read = plantReader(cellsOf(record));
      else entries.push(entry(number, bytes, () => readPlant(cellsOf(record))));
    }
    yield entries;
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
    if (name === undefined) throw new PlantStoreError('invalid_plant', `name must be ${fieldRules.name}; "" is empty`);
    return { id: BigInt(id), name, ...(tag !== undefined && { tag }) };
  };
}
