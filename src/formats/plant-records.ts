import { isUtf8 } from 'node:buffer';
import { setImmediate as nextIteration } from 'node:timers/promises';
import Type from 'typebox';
import { PlantStoreError } from '../domain/errors.ts';
import { fieldRules, type NewPlant, type ValidPlant, validatePlant } from '../domain/plant.ts';
import { type Row, rowsIn, separators } from './csv.js';
import { jsonParser } from './json-parser.ts';
import { decimalId } from './plant-id.ts';
import { NewPlant as NewPlantSchema, PLANT_BYTES_MAX, Plant as PlantSchema } from './schemas.ts';
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
/** How the records of a body are read, which begin at `start`. */
interface Form {
  readonly separator?: string;
  readonly start: number;
  /** @param id for records that have none @throws PlantStoreError `malformed_json`, `invalid_plant` */
  read(record: Row, id: bigint): NewPlant;
}
/** Notes the names of columns or members that mean nothing. */
type Ignore = (names: readonly string[]) => void;

export const RECORDS_MAX = 20_000;
const READERS = '; the page and npm run import read other lists';
const IGNORED_NAMES_MAX = 20;
/** Milliseconds after which other requests are served. */
const SLICE_MS_MAX = 5;

const invalid = (message: string) => new PlantStoreError('invalid_plant', message);
const tooLarge = (message: string) => new PlantStoreError('record_too_large', message);

/**
 * Reads all records. Each plant and each refusal has the number of its first line, from 1, and `ignored` has the first names
 * of members or columns that mean nothing. Other requests are served meanwhile.
 *
 * @throws PlantStoreError `malformed_json` if there are none, or not in UTF-8, `record_too_large` if there are too many,
 * `invalid_plant` if they cannot be read as a whole
 */
export async function readRecords(body: Buffer, options: RecordsOptions) {
  if (!isUtf8(body)) throw new PlantStoreError('malformed_json', `the body must be valid UTF-8${READERS}`);
  const text = body.toString().replace(/^\uFEFF/, '');
  const { isCsv, idsFrom } = options;
  const ignoredNames = new Set<string>();
  let hasIds = false;
  function ignore(names: readonly string[]): void {
    hasIds ||= names.includes('id');
    for (const name of names) if (ignoredNames.size < IGNORED_NAMES_MAX) ignoredNames.add(bounded(name));
  }
  const { separator, start, read } = isCsv ? csvForm(text, options, ignore) : jsonForm(options, ignore);
  const plants: { readonly line: number; readonly plant: ValidPlant }[] = [];
  // Without the errors themselves, whose stacks would be kept for each of many records.
  const refusals: Refusal[] = [];
  let [line, lineEnd, sliceStart] = [1, text.indexOf('\n'), performance.now()];
  for (const record of rowsIn(text, separator)) {
    if (performance.now() - sliceStart > SLICE_MS_MAX) {
      await nextIteration();
      sliceStart = performance.now();
    }
    const { raw } = record;
    for (; lineEnd >= 0 && lineEnd < record.end - raw.length; lineEnd = text.indexOf('\n', lineEnd + 1)) line++;
    if (record.end <= start || !/[^\t\n\r ]/.test(raw)) continue;
    if (record.problem === 'open') throw invalid(`line ${line}: a quote is never closed`);
    if (isCsv && raw.endsWith('\r'))
      throw invalid(`line ${line}: a carriage return must be followed by a line feed, or be within quotes`);
    const count = plants.length + refusals.length;
    if (count === RECORDS_MAX) throw tooLarge(`a request must not have more than ${RECORDS_MAX} records`);
    try {
      if (Buffer.byteLength(raw) > PLANT_BYTES_MAX)
        throw tooLarge(`the record must not be larger than ${PLANT_BYTES_MAX} bytes`);
      plants.push({ line, plant: validatePlant(read(record, (idsFrom ?? 0n) + BigInt(count))) });
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      refusals.push({ line, code: error.code, message: error.message });
    }
    if (hasIds) throw invalid(`line ${line} has an id: idsFrom is for lists without ids`);
  }
  // Storing the plants takes its own time.
  await nextIteration();
  if (plants.length + refusals.length === 0) throw new PlantStoreError('malformed_json', 'the body must have a record');
  return { plants, refusals, ignored: [...ignoredNames] };
}

// Many programs write a column without a value as null.
const tag = Type.Optional(Type.Union([PlantSchema.properties.tag, Type.Null()], { description: fieldRules.tag }));
const properties = { ...NewPlantSchema.properties, tag };
const description = 'an object with an id, a name and an optional tag';
const parseLine = jsonParser(Type.Object(properties, { description }), 'the line');
const parseClosed = jsonParser(Type.Object(properties, { description, additionalProperties: false }), 'the line');
const parseNumbered = jsonParser(
  Type.Object({ ...PlantSchema.properties, tag }, { description: 'an object with a name and an optional tag' }),
  'the line',
);

function jsonForm({ idsFrom, replaces }: RecordsOptions, ignore: Ignore): Form {
  const parse = replaces ? parseClosed : parseLine;
  return {
    start: 0,
    read({ raw }, number) {
      const record = idsFrom === undefined ? parse(raw, ignore) : { id: number, ...parseNumbered(raw, ignore) };
      const { id, name, tag } = record;
      return typeof tag === 'string' ? { id, name, tag } : { id, name };
    },
  };
}

/** @throws PlantStoreError if the first line does not name the columns, or is too large to be read as a whole */
function csvForm(text: string, { idsFrom, replaces }: RecordsOptions, ignore: Ignore): Form {
  const names = ['id', 'name', 'tag'].slice(idsFrom === undefined ? 0 : 1);
  const neededNames = names.filter((name) => name !== 'tag' || replaces);
  const head = text.slice(0, PLANT_BYTES_MAX + 1);
  const tables = separators.flatMap((separator) =>
    [...rowsIn(head, separator).take(1)].map(({ cells, end }) => ({ separator, columns: cells, end })),
  );
  const table = tables.find(({ columns }) => neededNames.every((name) => columns.includes(name)));
  const isTwice = (name: string) => table?.columns.indexOf(name) !== table?.columns.lastIndexOf(name);
  if (table === undefined || names.some(isTwice))
    throw invalid(`line 1 must name the columns ${neededNames.join(', ')}, each once, as in id,name,tag${READERS}`);
  const { separator, columns, end } = table;
  if (end > PLANT_BYTES_MAX) throw tooLarge(`line 1 must not be larger than ${PLANT_BYTES_MAX} bytes`);
  ignore(columns.filter((name) => name !== undefined).filter((name) => !names.includes(name)));
  const [idAt, nameAt, tagAt] = [columns.indexOf('id'), columns.indexOf('name'), columns.indexOf('tag')];
  return {
    separator,
    start: end,
    read({ cells, problem }, number) {
      if (problem !== undefined) throw invalid('quotes must enclose a whole cell, with those in it doubled');
      if (cells.length !== columns.length) throw invalid(`there must be ${columns.length} cells, as many as columns`);
      const [idText = '', name, tag] = [cells[idAt], cells[nameAt], cells[tagAt]];
      const id = idAt < 0 ? number : decimalId.parse(idText);
      if (id === undefined) throw invalid(`id must be ${decimalId.mustBe}, not ${shown(idText)}`);
      if (name === undefined) throw invalid('name is missing; write two quotes, "", for an empty one');
      return { id, name, ...(tag !== undefined && { tag }) };
    },
  };
}
