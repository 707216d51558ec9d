import Type from 'typebox';
import type { Plant } from '../../domain/plant.ts';
import { exactInteger } from '../json-integer.ts';
import { jsonMembers } from '../json-members.ts';
import { jsonParser } from '../object-parser.ts';
import { NewPlant, Plant as PlantSchema } from '../schemas.ts';

/**
 * Creates the parser of a line of JSON.
 *
 * @param isNumbered whether lines have no ids
 * @param replaces whether unknown members are refused: a misspelt one would remove what it was to set
 * @param ignore called with the names of unknown members
 * @returns a function that calls `noteId` with the id, also if the line is refused for something else
 */
export function lineParser(isNumbered: boolean, replaces: boolean, ignore: (names: readonly string[]) => void) {
  const { properties } = isNumbered ? PlantSchema : NewPlant;
  const description = `an object with ${isNumbered ? '' : 'an id, '}a name and an optional tag`;
  const schema = Type.Object(properties, { description, ...(replaces && { additionalProperties: false }) });
  const parse = jsonParser(schema, 'the line', ignore);

  return (bytes: Buffer, noteId: (id: bigint) => void): Plant => {
    try {
      // Of many unknown members, the parser notes only the first.
      if (isNumbered && idSource(bytes) !== undefined) ignore(['id']);
      const plant: Plant & { readonly id?: bigint } = parse(bytes);
      if (plant.id !== undefined) noteId(plant.id);
      return plant;
    } catch (error) {
      const id = isNumbered ? undefined : exactInteger(idSource(bytes) ?? '');
      if (id !== undefined) noteId(id);
      throw error;
    }
  };
}

/** The source text of the id in a line; undefined if the line has none, or is not JSON. */
function idSource(bytes: Buffer): string | undefined {
  try {
    return jsonMembers(bytes.toString(), ['id'])?.requested.get('id');
  } catch {
    return undefined;
  }
}
