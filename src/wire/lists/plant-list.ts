import { setImmediate as nextIteration } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import { isPlantId, type NewPlant, type ValidPlant, validatePlant } from '../../domain/plant.ts';
import { bounded } from '../shown.ts';
import { csvReader } from './csv.ts';
import { quotesMeanThemselves, type Separator, separators } from './csv-cells.ts';
import { type Column, type CsvLayout, layoutFinder } from './csv-layout.ts';
import type { Encoding } from './encoding-finder.js';
import { decodedList } from './encodings.ts';
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
  readonly encoding?: Encoding | undefined;
  /** What the columns of CSV are, whatever a line names them, and what separates its cells. */
  readonly columns?: readonly Column[] | undefined;
  readonly separator?: Separator | undefined;
  /** The physical line of CSV that names the columns. */
  readonly header?: number | undefined;
}

/** A record of a list: a plant, or why it is none. */
export type ListRecord = {
  /** Its first and its last physical line in the body, from 1. */
  readonly line: number;
  readonly lastLine: number;
  /** If it is known. */
  readonly id: bigint | undefined;
} & (
  | { readonly plant: ValidPlant; readonly refusal?: undefined; readonly isUnnumbered?: undefined }
  | {
      readonly plant?: undefined;
      readonly refusal: Pick<PlantStoreError, 'code' | 'message'>;
      readonly isUnnumbered: boolean;
    }
);

export const MAX_RECORDS = 20_000;

const MAX_IGNORED = 20;

/** Milliseconds after which other requests are served. */
const SLICE = 5;

/** The first line of a list for Excel. */
const SEPARATOR_LINE = /^"?sep=(.)"?$/;

/**
 * Reads the plants of a list, up to MAX_RECORDS records. It lets other requests be served meanwhile.
 *
 * @returns `consumed`: where the last complete record, blank line or line of names ends, in octets of the body; `ignored`:
 * the first names of columns or members that mean nothing, bounded
 * @throws PlantStoreError `malformed_json` if this is the whole list, without a record or names of columns;
 * `invalid_plant`, naming the line, if the list cannot be read as a whole
 */
export async function readPlantList(body: Buffer, options: ListOptions) {
  const { isCsv, idsFrom, replaces, continued, more, columns, header } = options;
  const isNumbered = idsFrom !== undefined;
  const { text, encoding, octets } = decodedList(body, options);
  const separator = (!continued && isCsv && separatorLine(text)) || undefined;
  const csv = { ...options, isNumbered, separator: options.separator ?? separator };
  const records: ListRecord[] = [];
  const ignored = new Set<string>();
  const ignore = (names: readonly string[]) => {
    for (const name of names) if (ignored.size < MAX_IGNORED) ignored.add(bounded(name));
  };
  const finder = layoutFinder(csv);
  let layout: ReturnType<typeof finder.find> | CsvLayout =
    columns && header === undefined ? { columns, separator: csv.separator ?? ',' } : undefined;
  let reader = layout && csvReader(layout);
  if (!isCsv) reader = ndjsonReader(isNumbered, replaces, ignore);
  let consumed = 0;
  // Lines before that of the names, which the next part needs again.
  let isSearching = header !== undefined;
  let sliceStart = performance.now();
  for (const line of linesOf(text, () => layout !== undefined)) {
    if (performance.now() - sliceStart > SLICE) {
      await nextIteration();
      sliceStart = performance.now();
    }
    const { bytes, number } = line;
    if (!isCsv && !continued && records.length === 0) refuseOtherJson(line);
    if (more && !line.hasEnd) break;
    if (line.isOpen) {
      const advice = quotesMeanThemselves(layout?.separator);
      throw new PlantStoreError('invalid_plant', `line ${number}: a quote is never closed${advice}`);
    }
    const isSeparator = separator !== undefined && number === 1;
    const isEmpty = isSeparator || (reader ? reader.isEmpty(bytes) : isBlank(bytes));
    if (reader === undefined && (!isEmpty || header !== undefined)) {
      const found = finder.find(line);
      isSearching = found === undefined;
      if (found !== undefined) {
        layout = found;
        reader = csvReader(found);
        ignore(found.names.filter((name, index) => name !== '' && found.columns[index] === ''));
      }
    } else if (!isEmpty && reader !== undefined) {
      if (records.length === MAX_RECORDS) break;
      if (isNumbered && !isCsv) refuseId(line);
      records.push(recordIn(line, reader, isNumbered ? idsFrom + BigInt(records.length) : undefined));
    }
    isSearching ||= isSeparator && reader === undefined;
    if (!isSearching) consumed = line.end;
  }
  // Storing the plants takes its own time.
  await nextIteration();
  if (!more && isSearching) {
    throw finder.problem() ?? new PlantStoreError('invalid_plant', 'there is no line that names the columns');
  }
  if (!more && !continued && layout === undefined && records.length === 0) {
    throw new PlantStoreError('malformed_json', 'the list is empty');
  }
  return { records, encoding, consumed: octets(consumed), ignored: [...ignored], layout };
}

function separatorLine(text: Buffer): Separator | undefined {
  const [, found] = SEPARATOR_LINE.exec(text.toString('latin1', 0, 20).split(/\r?\n/, 1)[0] ?? '') ?? [];
  return separators.find((one) => one === found);
}

/** @param number the record's id, if the list is numbered */
function recordIn(
  { number: line, lastNumber: lastLine, bytes }: Line,
  { plantIn, idIn, isUnnumbered }: RecordReader,
  number: bigint | undefined,
): ListRecord {
  try {
    const plant = validatePlant({ id: number, ...plantIn(bytes) } as NewPlant);
    return { line, lastLine, id: plant.id, plant };
  } catch (error) {
    if (!(error instanceof PlantStoreError)) throw error;
    const id = number ?? idIn(bytes);
    const { code, message } = error;
    // Without the error itself, whose stack would be kept for each of many records.
    const known = id !== undefined && isPlantId(id) ? id : undefined;
    return { line, lastLine, id: known, refusal: { code, message }, isUnnumbered: isUnnumbered(bytes) };
  }
}
