import { setImmediate as nextIteration } from 'node:timers/promises';
import { PlantStoreError } from '../../domain/errors.ts';
import { checkNewPlant, MAX_INT64, MIN_INT64, type NewPlant, type Plant } from '../../domain/plant.ts';
import { bounded, shown } from '../shown.ts';
import { type Column, type CsvLayout, checkColumns, csvPlant, hasValue, namedLayout } from './csv.ts';
import type { Separator } from './csv-cells.ts';
import { isBlank, type Line, linesOf } from './lines.ts';
import { lineParser } from './ndjson.ts';

/** What a list of plants is, beyond its octets. */
interface ListOptions {
  readonly isCsv: boolean;
  /** The id of its first record, if it has no ids: the others are numbered from there. */
  readonly idsFrom?: bigint | undefined;
  /** Whether its plants replace others, so that a tag that is missing by mistake would remove one. */
  readonly replaces: boolean;
  /** Whether it goes on after this body. */
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

export const MOST_RECORDS = 20_000;

const MOST_IGNORED = 20;

/** Milliseconds after which other requests are served. */
const SLICE = 5;

/**
 * Reads the plants of a list. It lets other requests be served meanwhile.
 *
 * @returns `consumed`: where the last complete record, blank line or line of names ends, in octets; `ignored`: the first
 * names of columns or members that mean nothing, bounded; `hasTooMany`: whether records beyond MOST_RECORDS are left alone
 * @throws PlantStoreError `malformed_json` if there is no record and no line of names, `invalid_plant`, naming the line,
 * if the list cannot be read as a whole
 */
export async function readPlantList(body: Buffer, { isCsv, idsFrom, replaces, more, columns, separator }: ListOptions) {
  const isNumbered = idsFrom !== undefined;
  const records: ListRecord[] = [];
  const ignored = new Set<string>();
  let layout: CsvLayout | undefined = columns && { columns, separator: separator ?? ',' };
  let [consumed, isEmpty, hasTooMany, hasIds] = [0, true, false, false];
  const ignore = (names: readonly string[]) => {
    hasIds ||= isNumbered && !isCsv && names.includes('id');
    for (const name of names) if (ignored.size < MOST_IGNORED) ignored.add(bounded(name));
  };
  const parse = lineParser(isNumbered, replaces, ignore);

  function namesIn({ bytes, number }: Line): CsvLayout {
    try {
      const named = namedLayout(bytes, separator, ignore);
      checkColumns(named.columns, isNumbered, replaces);
      return named;
    } catch (error) {
      if (!(error instanceof PlantStoreError)) throw error;
      const rule = `line ${number} must name the columns, as in id,name,tag`;
      throw new PlantStoreError('invalid_plant', `${rule}: ${error.message}; it is ${shown(bytes.toString())}`);
    }
  }

  if (layout !== undefined) checkColumns(layout.columns, isNumbered, replaces);
  // The name that a part of a list begins with may begin with a byte order mark.
  const keepsMark = columns?.[0] === 'name' || columns?.[0] === 'tag';
  let sliceStart = performance.now();
  for (const line of linesOf(body, keepsMark, () => layout !== undefined)) {
    if (performance.now() - sliceStart > SLICE) {
      await nextIteration();
      sliceStart = performance.now();
    }
    if (more && !line.hasEnd) break;
    if (line.isOpen) throw new PlantStoreError('invalid_plant', `line ${line.number}: a quote is never closed`);
    if (!isBlank(line)) {
      isEmpty = false;
      const known = layout;
      if (isCsv && known === undefined) layout = namesIn(line);
      else if (known === undefined || hasValue(line, known)) {
        hasTooMany = records.length === MOST_RECORDS;
        if (hasTooMany) break;
        const id = isNumbered ? idsFrom + BigInt(records.length) : undefined;
        records.push(
          recordIn(line, id, (noteId) => (known ? csvPlant(line.bytes, known, noteId) : parse(line.bytes, noteId))),
        );
        if (hasIds)
          throw new PlantStoreError('invalid_plant', `line ${line.number} has an id: idsFrom is for lists without ids`);
      }
    }
    consumed = line.end;
  }
  // What becomes of the plants takes its own time.
  await nextIteration();
  if (isEmpty && !more) throw new PlantStoreError('malformed_json', 'the list is empty');
  return { records, consumed, hasTooMany, ignored: [...ignored], layout };
}

function recordIn(
  { number: line, lastNumber: lastLine }: Line,
  given: bigint | undefined,
  read: (noteId: (id: bigint) => void) => Plant,
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
