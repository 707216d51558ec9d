import Type from 'typebox';
import { PlantStoreError } from '../../domain/errors.ts';
import { exactInteger } from '../json-integer.ts';
import { jsonMembers } from '../json-members.ts';
import { jsonParser } from '../json-parser.ts';
import { NewPlant, Plant } from '../schemas.ts';
import type { Line, RecordReader } from './lines.ts';

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
  const schema = Type.Object(properties, { description, ...(replaces && { additionalProperties: false }) });
  return {
    plantIn: jsonParser(schema, 'the line', ignore),
    idIn: (line) => exactInteger(idSource(line) ?? ''),
  };
}

/** @throws PlantStoreError `invalid_plant` if a line of a numbered list has an id */
export function refuseId({ bytes, number }: Line): void {
  if (idSource(bytes) === undefined) return;
  throw new PlantStoreError('invalid_plant', `line ${number} has an id: idsFrom is for lists without ids`);
}

/** The source text of the id in a line; undefined if the line has none, or is not JSON. */
function idSource(line: Buffer): string | undefined {
  try {
    return jsonMembers(line.toString(), ['id'])?.requested.get('id');
  } catch {
    return undefined;
  }
}
