import { isUtf8 } from 'node:buffer';
import Type from 'typebox';
import { PlantStoreError } from '../domain/errors.ts';
import { fieldRules, type NewPlant } from '../domain/plant.ts';
import { readRecord, separators } from './csv.js';
import { parseJson } from './exact-json.ts';
import { jsonParser } from './json-parser.ts';
import { decimalId } from './plant-id.ts';
import { NewPlant as NewPlantSchema } from './schemas.ts';
import { shown } from './shown.ts';

/* The readers of one record: of a line of JSON, and of CSV as the list of plants has it. */

export interface RecordsOptions {
  readonly isCsv: boolean;
  /** The id of the first record, if they have none: the others are numbered from there, refused ones too. */
  readonly idsFrom?: bigint | undefined;
  /** Whether plants replace others, so that a tag that is missing by mistake would remove one. */
  readonly replaces: boolean;
}

interface RecordReader {
  /** @throws PlantStoreError `malformed_json`, `invalid_plant` */
  plantIn(record: Buffer): Omit<NewPlant, 'id'> & { readonly id?: bigint };
  /** The id of a record that may be invalid otherwise; undefined if it cannot be read. */
  idIn(record: Buffer): bigint | undefined;
}

/** Gets the names of columns or members that mean nothing. */
type Ignore = (names: readonly string[]) => void;

const invalid = (message: string) => new PlantStoreError('invalid_plant', message);
export const hasIds = (line: number) => invalid(`line ${line} has an id: idsFrom is for lists without ids`);

export function jsonReader({ idsFrom, replaces }: RecordsOptions, ignore: Ignore): RecordReader {
  const { properties } = NewPlantSchema;
  const id = idsFrom === undefined ? properties.id : Type.Optional(properties.id);
  // As many programs write a column without a value.
  const tag = Type.Optional(Type.Union([properties.tag, Type.Null()], { description: fieldRules.tag }));
  const description = 'an object with an id, a name and an optional tag';
  const options = { description, ...(replaces && { additionalProperties: false }) };
  const parse = jsonParser(Type.Object({ ...properties, id, tag }, options), 'the line', ignore);
  return {
    plantIn(record) {
      const { tag, ...plant } = parse(record);
      return typeof tag === 'string' ? { ...plant, tag } : plant;
    },
    idIn(record) {
      try {
        const { id } = parseJson(record.toString()) as { readonly id?: unknown };
        return typeof id === 'bigint' ? id : undefined;
      } catch {
        return undefined;
      }
    },
  };
}

const columnNames = ['id', 'name', 'tag'] as const;
const READERS = 'npm run import and the page read lists of other programs';

/** @param names the line that names the columns @throws PlantStoreError `invalid_plant` if it does not */
export function csvReader(
  line: number,
  names: string,
  { idsFrom, replaces }: RecordsOptions,
  ignore: Ignore,
): RecordReader {
  const needed = columnNames.filter((name) => name === 'name' || (name === 'id' ? idsFrom === undefined : replaces));
  const rows = separators.map((separator) => ({ separator, columns: readRecord(names, separator).cells }));
  const row = rows.find(({ columns }) => needed.every((name) => columns.includes(name)));
  const twice = columnNames.find((name) => row?.columns.includes(name, row.columns.indexOf(name) + 1));
  if (row === undefined || twice !== undefined)
    throw invalid(`line ${line} must name the columns ${needed.join(', ')}, each once, as in id,name,tag; ${READERS}`);
  const { separator, columns } = row;
  if (idsFrom !== undefined && columns.includes('id')) throw hasIds(line);
  ignore(columns.flatMap((name) => (name === undefined || columnNames.some((own) => own === name) ? [] : name)));
  const [idAt, nameAt, tagAt] = columnNames.map((name) => columns.indexOf(name)) as [number, number, number];
  return {
    plantIn(record) {
      if (!isUtf8(record)) throw new PlantStoreError('malformed_json', `the record must be valid UTF-8; ${READERS}`);
      const text = record.toString();
      const { cells, end, problem } = readRecord(text, separator);
      if (problem !== undefined || end < text.length)
        throw invalid('quotes must enclose a whole cell, with those in it doubled');
      if (cells.length !== columns.length) throw invalid(`there must be ${columns.length} cells, as many as columns`);
      const [written = '', name, tag] = [cells[idAt], cells[nameAt], cells[tagAt]];
      const id = decimalId.parse(written);
      if (idAt >= 0 && id === undefined) throw invalid(`id must be ${decimalId.mustBe}, not ${shown(written)}`);
      if (name === undefined) throw invalid('name is missing; write "" for an empty name');
      return { name, ...(id !== undefined && { id }), ...(tag !== undefined && { tag }) };
    },
    idIn: (record) => decimalId.parse(readRecord(record.toString(), separator).cells[idAt] ?? ''),
  };
}
