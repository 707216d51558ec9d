import Type from 'typebox';
import { PlantStoreError } from '../../domain/errors.ts';
import { fieldRules } from '../../domain/plant.ts';
import { jsonParser, parseJson } from '../json-parser.ts';
import { MAX_PLANT_BYTES, NewPlant, Plant } from '../schemas.ts';
import { isBlank, type Line, type RecordReader } from './lines.ts';

const TOO_LARGE = `the line must not be larger than ${MAX_PLANT_BYTES} bytes`;

/**
 * Creates the reader of lines of JSON.
 *
 * @param isNumbered whether lines have no ids
 * @param replaces whether unknown members are refused: a misspelt one would remove what it was to set
 * @param ignore called with the names of unknown members
 */
export function ndjsonReader(
  isNumbered: boolean,
  replaces: boolean,
  ignore: (names: readonly string[]) => void,
): RecordReader {
  const { properties } = isNumbered ? Plant : NewPlant;
  const description = `an object with ${isNumbered ? '' : 'an id, '}a name and an optional tag`;
  // As many programs write a column without a value.
  const tag = Type.Optional(Type.Union([properties.tag, Type.Null()], { description: fieldRules.tag }));
  const options = { description, ...(replaces && { additionalProperties: false }) };
  const parse = jsonParser(Type.Object({ ...properties, tag }, options), 'the line', ignore);
  return {
    isEmpty: isBlank,
    plantIn(record) {
      if (record.length > MAX_PLANT_BYTES) throw new PlantStoreError('record_too_large', TOO_LARGE);
      const { tag, ...plant } = parse(record);
      return typeof tag === 'string' ? { ...plant, tag } : plant;
    },
    idIn(line) {
      const id = idOf(line);
      return typeof id === 'bigint' ? id : undefined;
    },
    isUnnumbered: () => false,
  };
}

const [BRACKET, BRACE] = [0x5b, 0x7b];

/** @throws PlantStoreError `invalid_plant` if a list begins with an array, or an object on several lines, as JSON.stringify writes it */
export function refuseOtherJson({ bytes, number, hasEnd }: Line): void {
  const start = bytes.findIndex((byte) => byte > 0x20);
  const isOpenBrace = hasEnd && bytes[start] === BRACE && isBlank(bytes.subarray(start + 1));
  if (bytes[start] !== BRACKET && !isOpenBrace) return;
  const example = '{"id":1,"name":"Rosa"}';
  const message = `NDJSON has one object a line, as in ${example}, without brackets around them or commas between them`;
  throw new PlantStoreError('invalid_plant', `line ${number}: ${message}`);
}

/** @throws PlantStoreError `invalid_plant` if a line of a numbered list has an id */
export function refuseId({ bytes, number }: Line): void {
  if (idOf(bytes) === undefined) return;
  throw new PlantStoreError('invalid_plant', `line ${number} has an id: idsFrom is for lists without ids`);
}

/** The id of a line, whatever it is; undefined if the line has none, is not JSON, or too large. */
function idOf(line: Buffer): unknown {
  try {
    return line.length > MAX_PLANT_BYTES
      ? undefined
      : (parseJson(line.toString()) as { readonly id?: unknown } | null)?.id;
  } catch {
    return undefined;
  }
}
