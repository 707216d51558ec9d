import { setImmediate as nextIteration } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import { checkNewPlant, isPlantId, type NewPlant } from '../../domain/plant.ts';
import { bounded } from '../shown.ts';
import { type Column, csvReader, isCleared, namedLayout } from './csv.ts';
import type { Separator } from './csv-cells.ts';
import { isBlank, type Line, linesOf, type RecordReader } from './lines.ts';
import { ndjsonReader, refuseId, refuseOtherJson } from './ndjson.ts';

/** What a list of plants is, beyond its bytes. */
interface ListOptions {
  readonly isCsv: boolean;
  /** The id of its first record, if it has no ids: the others are numbered from there. */
  readonly idsFrom?: bigint | undefined;
  /** Whether its plants replace others, so that a tag that is missing by mistake would remove one. */
  readonly replaces: boolean;
  /** Whether it has begun before this body, and whether it goes on after it. */
  readonly continued: boolean;
  readonly more: boolean;
  /** What the columns of CSV are, in place of a line that names them, and what separates its cells. */
  readonly columns?: readonly Column[] | undefined;
  readonly separator?: Separator | undefined;
}

/** A record of a list: a plant, or why it is none. */
export type ListRecord = {
  /** Its first and its last physical line in the body, from 1. */
  readonly line: number;
  readonly lastLine: number;
  /** If it is known. */
  readonly id: bigint | undefined;
} & (
  | { readonly plant: NewPlant; readonly refusal?: undefined }
  | { readonly plant?: undefined; readonly refusal: Pick<PlantStoreError, 'code' | 'message'> }
);

export const MAX_RECORDS = 20_000;

const MAX_IGNORED = 20;

/** Milliseconds after which other requests are served. */
const SLICE = 5;

/**
 * Reads the plants of a list, up to MAX_RECORDS records. It lets other requests be served meanwhile.
 *
 * @returns `consumed`: where the last complete record, blank line or line of names ends, in bytes; `ignored`: the first
 * names of columns or members that mean nothing, bounded
 * @throws PlantStoreError `malformed_json` if this is the whole list, without a record or names of columns;
 * `invalid_plant`, naming the line, if the list cannot be read as a whole
 */
export async function readPlantList(body: Buffer, options: ListOptions) {
  const { isCsv, idsFrom, replaces, continued, more, columns, separator } = options;
  const isNumbered = idsFrom !== undefined;
  const records: ListRecord[] = [];
  const ignored = new Set<string>();
  const ignore = (names: readonly string[]) => {
    for (const name of names) if (ignored.size < MAX_IGNORED) ignored.add(bounded(name));
  };
  let layout = columns && { columns, separator: separator ?? ',' };
  let reader = layout && csvReader(layout);
  if (!isCsv) reader = ndjsonReader(isNumbered, replaces, ignore);
  let consumed = 0;
  let sliceStart = performance.now();
  for (const line of linesOf(body, continued, () => layout !== undefined)) {
    if (performance.now() - sliceStart > SLICE) {
      await nextIteration();
      sliceStart = performance.now();
    }
    const { bytes, number } = line;
    if (!isCsv && !continued && records.length === 0) refuseOtherJson(line);
    if (more && !line.hasEnd) break;
    if (line.isOpen) throw new PlantStoreError('invalid_plant', `line ${number}: a quote is never closed`);
    const isEmpty = isBlank(bytes) || (layout !== undefined && isCleared(bytes, layout));
    if (!isEmpty && reader === undefined) {
      layout = namedLayout(line, { separator, isNumbered, replaces, continued }, ignore);
      reader = csvReader(layout);
    } else if (!isEmpty && reader !== undefined) {
      if (records.length === MAX_RECORDS) break;
      if (isNumbered && !isCsv) refuseId(line);
      records.push(recordIn(line, reader, isNumbered ? idsFrom + BigInt(records.length) : undefined));
    }
    consumed = line.end;
  }
  // Storing the plants takes its own time.
  await nextIteration();
  if (!more && !continued && layout === undefined && records.length === 0) {
    throw new PlantStoreError('malformed_json', 'the list is empty');
  }
  return { records, consumed, ignored: [...ignored], layout };
}

/** @param number the record's id, if the list is numbered */
function recordIn(
  { number: line, lastNumber: lastLine, bytes }: Line,
  { plantIn, idIn }: RecordReader,
  number: bigint | undefined,
): ListRecord {
  try {
    const plant = { id: number, ...plantIn(bytes) } as NewPlant;
    checkNewPlant(plant);
    return { line, lastLine, id: plant.id, plant };
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    const id = number ?? idIn(bytes);
    const { code, message } = error;
    // Without the error itself, whose stack would be kept for each of many records.
    return { line, lastLine, id: id !== undefined && isPlantId(id) ? id : undefined, refusal: { code, message } };
  }
}
