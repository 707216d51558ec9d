import { setImmediate as nextIteration } from 'node:timers/promises';
import { PlantStoreError } from '../domain/errors.ts';
import { isPlantId, type NewPlant, type ValidPlant, validatePlant } from '../domain/plant.ts';
import { csvReader, hasIds, jsonReader, type RecordsOptions } from './record-readers.ts';
import { MAX_PLANT_BYTES } from './schemas.ts';
import { bounded } from './shown.ts';

/* The records of an import, strictly: NDJSON, or CSV as the list of plants has it. Other lists are read by src/lists. */

/** A record: a plant, or why it is none. */
interface PlantRecord {
  /** Its first physical line, from 1. */
  readonly line: number;
  readonly id: bigint | undefined;
  readonly plant?: ValidPlant;
  readonly refusal?: Pick<PlantStoreError, 'code' | 'message'>;
}

export const MAX_RECORDS = 20_000;
const MAX_IGNORED = 20;
/** Milliseconds after which other requests are served. */
const SLICE = 5;

const tooLarge = (message: string) => new PlantStoreError('record_too_large', message);

/**
 * Reads all records, and the first names of members or columns that are ignored. It lets other requests be served meanwhile.
 *
 * @throws PlantStoreError `malformed_json` if there are none, `record_too_large` if there are too many, `invalid_plant` if they
 * cannot be read as a whole
 */
export async function readRecords(body: Buffer, options: RecordsOptions) {
  const { isCsv, idsFrom } = options;
  const ignored = new Set<string>();
  const ignore = (names: readonly string[]) => {
    for (const name of names) if (ignored.size < MAX_IGNORED) ignored.add(bounded(name));
  };
  const records: PlantRecord[] = [];
  let reader = isCsv ? undefined : jsonReader(options, ignore);
  let sliceStart = performance.now();
  for (const { line, bytes } of linesOf(body, isCsv)) {
    if (performance.now() - sliceStart > SLICE) {
      await nextIteration();
      sliceStart = performance.now();
    }
    if (bytes.length === 0 || (!isCsv && bytes.every((byte) => byte <= 0x20))) continue;
    const isTooLarge = bytes.length > MAX_PLANT_BYTES;
    if (reader === undefined) {
      // It is read as a whole, for each separator.
      if (isTooLarge) throw tooLarge(`line ${line} must not be larger than ${MAX_PLANT_BYTES} bytes`);
      reader = csvReader(line, bytes.toString(), options, ignore);
      continue;
    }
    if (records.length === MAX_RECORDS) throw tooLarge(`a request must not have more than ${MAX_RECORDS} records`);
    const number = idsFrom === undefined ? undefined : idsFrom + BigInt(records.length);
    try {
      if (isTooLarge) throw tooLarge(`the record must not be larger than ${MAX_PLANT_BYTES} bytes`);
      const own = reader.plantIn(bytes);
      if (number !== undefined && own.id !== undefined) throw hasIds(line);
      const plant = validatePlant({ id: number, ...own } as NewPlant);
      records.push({ line, id: plant.id, plant });
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      const { code, message } = error;
      const id = isTooLarge ? undefined : reader.idIn(bytes);
      if (number !== undefined && id !== undefined) throw hasIds(line);
      // Without the error itself, whose stack would be kept for each of many records.
      const known = number ?? id;
      records.push({
        line,
        id: known !== undefined && isPlantId(known) ? known : undefined,
        refusal: { code, message },
      });
    }
  }
  // Storing the plants takes its own time.
  await nextIteration();
  if (records.length === 0) throw new PlantStoreError('malformed_json', 'the body must have a record');
  return { records, ignored: [...ignored] };
}

const MARK = Buffer.from('\uFEFF');
const [LINE_FEED, CARRIAGE_RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

/** Splits a body into lines without their ends; an open quote of CSV joins them. @throws PlantStoreError `invalid_plant` */
function* linesOf(body: Buffer, isCsv: boolean) {
  let start = body.subarray(0, MARK.length).equals(MARK) ? MARK.length : 0;
  for (let line = 1, next = 1; start < body.length; line = next) {
    let [at, isOpen] = [start, false];
    for (; at < body.length; at++) {
      if (body[at] === QUOTE) isOpen = isCsv && !isOpen;
      else if (body[at] === LINE_FEED) {
        next++;
        if (!isOpen) break;
      }
    }
    if (isOpen) throw new PlantStoreError('invalid_plant', `line ${line}: a quote is never closed`);
    yield { line, bytes: body.subarray(start, at > start && body[at - 1] === CARRIAGE_RETURN ? at - 1 : at) };
    start = at + 1;
  }
}
