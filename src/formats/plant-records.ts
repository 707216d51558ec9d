import { isUtf8 } from 'node:buffer';
import { setImmediate as nextIteration } from 'node:timers/promises';
import Type from 'typebox';
import { PlantStoreError } from '../domain/errors.ts';
import { fieldRules, type NewPlant, type ValidPlant, validatePlant } from '../domain/plant.ts';
import { readRecord, separators } from './csv.js';
import { jsonParser } from './json-parser.ts';
import { decimalId } from './plant-id.ts';
import { MAX_PLANT_BYTES, NewPlant as NewPlantSchema } from './schemas.ts';
import { bounded, shown } from './shown.ts';

/* The records of an import, strictly: NDJSON, or CSV as the list of plants has it. Other lists are read by src/lists. */

interface RecordsOptions {
  readonly isCsv: boolean;
  /** The id of the first record, if they have none: the others are numbered from there, refused ones too. */
  readonly idsFrom?: bigint | undefined;
  /** Whether plants replace others, so that a tag that is missing by mistake would remove one. */
  readonly replaces: boolean;
}

interface Refusal extends Pick<PlantStoreError, 'code' | 'message'> {
  readonly line: number;
  readonly id?: bigint;
}
interface Line {
  readonly line: number;
  readonly bytes: Buffer;
}
type WrittenPlant = Omit<NewPlant, 'id'> & { readonly id?: bigint };
/** Reads a record. @throws PlantStoreError `malformed_json`, `invalid_plant` */
type Read = (record: Buffer) => WrittenPlant;
/** Gets the names of columns or members that mean nothing. */
type Ignore = (names: readonly string[]) => void;

export const RECORDS_MAX = 20_000;
const IGNORED_MAX = 20;
/** Milliseconds after which other requests are served. */
const SLICE_MS_MAX = 5;

const invalid = (message: string) => new PlantStoreError('invalid_plant', message);
const tooLarge = (message: string) => new PlantStoreError('record_too_large', message);

/**
 * Reads all records: plants, and why others are none, by their first physical lines, from 1; and the first names of members or
 * columns that are ignored. It lets other requests be served meanwhile.
 *
 * @throws PlantStoreError `malformed_json` if there are none, `record_too_large` if there are too many, `invalid_plant` if they
 * cannot be read as a whole
 */
export async function readRecords(body: Buffer, options: RecordsOptions) {
  const { isCsv, idsFrom } = options;
  const ignored = new Set<string>();
  const ignore: Ignore = (names) => {
    for (const name of names) if (ignored.size < IGNORED_MAX) ignored.add(bounded(name));
  };
  const plants: { readonly line: number; readonly plant: ValidPlant }[] = [];
  // Without the errors themselves, whose stacks would be kept for each of many records.
  const refused: Refusal[] = [];
  const lines = linesOf(body, isCsv);
  const read = isCsv
    ? csvReader(lines.next().value ?? { line: 1, bytes: MARK }, options, ignore)
    : jsonReader(options, ignore);
  let sliceStart = performance.now();
  for (const { line, bytes } of lines) {
    if (performance.now() - sliceStart > SLICE_MS_MAX) {
      await nextIteration();
      sliceStart = performance.now();
    }
    const count = plants.length + refused.length;
    if (count === RECORDS_MAX) throw tooLarge(`a request must not have more than ${RECORDS_MAX} records`);
    const number = idsFrom === undefined ? undefined : idsFrom + BigInt(count);
    let written: WrittenPlant | undefined;
    try {
      if (bytes.length > MAX_PLANT_BYTES) throw tooLarge(`the record must not be larger than ${MAX_PLANT_BYTES} bytes`);
      written = read(bytes);
      plants.push({ line, plant: validatePlant({ id: number, ...written } as NewPlant) });
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      refused.push({ line, code: error.code, message: error.message });
    }
    if (number !== undefined && written?.id !== undefined)
      throw invalid(`line ${line} has an id: idsFrom is for lists without ids`);
  }
  // Storing the plants takes its own time.
  await nextIteration();
  if (plants.length + refused.length === 0) throw new PlantStoreError('malformed_json', 'the body must have a record');
  return { plants, refused, ignored: [...ignored] };
}

const MARK = Buffer.from('\uFEFF');
const [LINE_FEED, QUOTE] = [0x0a, 0x22];

/** Splits a body into lines, without blank ones; an open quote of CSV joins them. @throws PlantStoreError `invalid_plant` */
function* linesOf(body: Buffer, isCsv: boolean): Generator<Line, undefined> {
  let start = body.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
  for (let line = 1, next = 1; start < body.length; line = next) {
    let [at, isOpen, isBlank] = [start, false, true];
    for (let byte = body[at]; at < body.length && (isOpen || byte !== LINE_FEED); byte = body[++at]) {
      if (byte === LINE_FEED) next++;
      else if (byte === QUOTE) isOpen = isCsv && !isOpen;
      isBlank &&= Number(byte) <= 0x20;
    }
    next++;
    if (isOpen) throw invalid(`line ${line}: a quote is never closed`);
    if (!isBlank) yield { line, bytes: body.subarray(start, at) };
    start = at + 1;
  }
}

function jsonReader({ idsFrom, replaces }: RecordsOptions, ignore: Ignore): Read {
  const { properties } = NewPlantSchema;
  const id = idsFrom === undefined ? properties.id : Type.Optional(properties.id);
  // As many programs write a column without a value.
  const tag = Type.Optional(Type.Union([properties.tag, Type.Null()], { description: fieldRules.tag }));
  const description = 'an object with an id, a name and an optional tag';
  const options = { description, ...(replaces && { additionalProperties: false }) };
  const parse = jsonParser(Type.Object({ ...properties, id, tag }, options), 'the line', ignore);
  return (record) => {
    const { tag, ...plant } = parse(record);
    return typeof tag === 'string' ? { ...plant, tag } : plant;
  };
}

const columnNames = ['id', 'name', 'tag'] as const;
const READERS = 'the page and npm run import read other lists';

/** @param first the line that names the columns @throws PlantStoreError if it does not, or is too large to be read as a whole */
function csvReader({ line, bytes }: Line, { idsFrom, replaces }: RecordsOptions, ignore: Ignore): Read {
  if (bytes.length > MAX_PLANT_BYTES) throw tooLarge(`line ${line} must not be larger than ${MAX_PLANT_BYTES} bytes`);
  const needed = columnNames.filter((name) => name === 'name' || (name === 'id' ? idsFrom === undefined : replaces));
  const rows = separators.map((separator) => ({ separator, columns: readRecord(bytes.toString(), separator).cells }));
  const row = rows.find(({ columns }) => needed.every((name) => columns.includes(name)));
  const twice = columnNames.find((name) => row?.columns.includes(name, row.columns.indexOf(name) + 1));
  if (row === undefined || twice !== undefined)
    throw invalid(`line ${line} must name the columns ${needed.join(', ')}, each once, as in id,name,tag; ${READERS}`);
  const { separator, columns } = row;
  ignore(columns.flatMap((name) => (name === undefined || columnNames.some((own) => own === name) ? [] : name)));
  const [idAt, nameAt, tagAt] = columnNames.map((name) => columns.indexOf(name)) as [number, number, number];
  return (record) => {
    if (!isUtf8(record)) throw new PlantStoreError('malformed_json', `the record must be valid UTF-8; ${READERS}`);
    const text = record.toString();
    const { cells, end, problem } = readRecord(text, separator);
    if (problem !== undefined || end < text.length)
      throw invalid('quotes must enclose a whole cell, with those in it doubled');
    if (cells.length !== columns.length) throw invalid(`there must be ${columns.length} cells, as many as columns`);
    const [id = '', name, tag] = [cells[idAt], cells[nameAt], cells[tagAt]];
    if (idAt >= 0 && decimalId.parse(id) === undefined)
      throw invalid(`id must be ${decimalId.mustBe}, not ${shown(id)}`);
    if (name === undefined) throw invalid('name is missing; write two quotes, "", for an empty one');
    return { name, ...(idAt >= 0 && { id: BigInt(id) }), ...(tag !== undefined && { tag }) };
  };
}
