import { setImmediate as nextIteration } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import { checkNewPlant, MAX_INT64, MIN_INT64 } from '../../domain/plant.ts';
import { bounded } from '../shown.ts';
import { csvReader } from './csv.ts';
import type { CsvLayout, ListRecord, ReaderOptions, ReadPlant } from './line-reader.ts';
import { isBlank, type Line, linesOf } from './lines.ts';
import { ndjsonReader } from './ndjson.ts';

/** What a list of plants is, beyond its octets. */
interface ListOptions extends Omit<ReaderOptions, 'isNumbered' | 'ignore'> {
  readonly format: 'csv' | 'ndjson';
  /** The id of its first record, if it has no ids: the others are numbered from there. */
  readonly idsFrom?: bigint | undefined;
  /** Whether it goes on after this body. */
  readonly more: boolean;
}

export interface PlantList {
  readonly records: readonly ListRecord[];
  /** Where the last complete record, blank line or line of names ends, in octets. */
  readonly consumed: number;
  /** Whether there are more records than MOST_RECORDS, which are left alone. */
  readonly hasTooMany: boolean;
  /** The first names of columns or members that mean nothing, bounded. */
  readonly ignored: string[];
  /** Of CSV, once its line of names has been read. */
  readonly layout: CsvLayout | undefined;
}

export const MOST_RECORDS = 20_000;

const MOST_IGNORED = 20;

/** Milliseconds after which other requests are served. */
const SLICE = 5;

/**
 * Reads the plants of a list. It lets other requests be served meanwhile.
 *
 * @throws PlantStoreError `malformed_json` if there is no record and no line of names, `invalid_plant`, naming the line,
 * if the list cannot be read as a whole
 */
export async function readPlantList(body: Buffer, options: ListOptions): Promise<PlantList> {
  const { format, idsFrom, more } = options;
  const records: ListRecord[] = [];
  const ignored = new Set<string>();
  const ignore = (name: string) => {
    if (ignored.size < MOST_IGNORED) ignored.add(bounded(name));
  };
  const readerOf = format === 'csv' ? csvReader : ndjsonReader;
  const reader = readerOf({ ...options, ignore, isNumbered: idsFrom !== undefined });
  let consumed = 0;
  let isEmpty = true;
  let hasTooMany = false;
  let sliceStart = performance.now();
  for (const line of linesOf(body, reader.keepsMark, reader.joinsLines)) {
    if (performance.now() - sliceStart > SLICE) {
      await nextIteration();
      sliceStart = performance.now();
    }
    if (more && !line.hasEnd) break;
    if (line.isOpen) throw new PlantStoreError('invalid_plant', `line ${line.number}: a quote is never closed`);
    if (!isBlank(line)) {
      isEmpty = false;
      const id = idsFrom === undefined ? undefined : idsFrom + BigInt(records.length);
      const record = reader.read(line, (read) => recordIn(line, id, read));
      hasTooMany = record !== undefined && records.length === MOST_RECORDS;
      if (hasTooMany) break;
      if (record !== undefined) records.push(record);
    }
    consumed = line.end;
  }
  // What becomes of the plants takes its own time.
  await nextIteration();
  if (isEmpty && !more) throw new PlantStoreError('malformed_json', 'the list is empty');
  return { records, consumed, hasTooMany, ignored: [...ignored], layout: reader.layout() };
}

function recordIn(
  { number: line, lastNumber: lastLine }: Line,
  given: bigint | undefined,
  read: ReadPlant,
): ListRecord {
  let id = given;
  try {
    const { name, tag } = read((found) => {
      id = found;
    });
    const plant = { id: id as bigint, name, ...(tag !== undefined && { tag }) };
    checkNewPlant(plant);
    return { line, lastLine, id, plant };
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    const { code, message } = error;
    const isKnown = id !== undefined && id >= MIN_INT64 && id <= MAX_INT64;
    // Without the error itself, whose stack would be kept for each of many records.
    return { line, lastLine, id: isKnown ? id : undefined, refusal: { code, message } };
  }
}
