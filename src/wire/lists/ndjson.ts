import Type from 'typebox';
import { PlantStoreError } from '../../domain/errors.ts';
import type { Plant } from '../../domain/plant.ts';
import { exactInteger } from '../json-integer.ts';
import { jsonMembers } from '../json-members.ts';
import { jsonParser } from '../object-parser.ts';
import { NewPlant, Plant as PlantSchema } from '../schemas.ts';
import type { LineReader, ReaderOptions } from './line-reader.ts';

/** Reads a plant from each line of JSON. */
export function ndjsonReader({ isNumbered, replaces, ignore }: ReaderOptions): LineReader {
  const { properties } = isNumbered ? PlantSchema : NewPlant;
  const description = `an object with ${isNumbered ? '' : 'an id, '}a name and an optional tag`;
  // A record that replaces another one would lose what a misspelt member was to set.
  const schema = Type.Object(properties, { description, ...(replaces && { additionalProperties: false }) });
  let hasIds = false;
  const parse = jsonParser(schema, 'the line', (unknown) => {
    hasIds ||= isNumbered && unknown.includes('id');
    for (const name of unknown) ignore(name);
  });

  function plantIn(bytes: Buffer, noteId: (id: bigint) => void): Plant {
    try {
      const plant = parse(bytes);
      if ('id' in plant) noteId(plant.id as bigint);
      return plant;
    } catch (error) {
      const id = isNumbered ? undefined : idIn(bytes);
      if (id !== undefined) noteId(id);
      throw error;
    }
  }

  return {
    keepsMark: false,
    joinsLines: () => false,
    layout: () => undefined,
    read({ bytes, number }, recordOf) {
      const record = recordOf((noteId) => plantIn(bytes, noteId));
      if (!hasIds) return record;
      throw new PlantStoreError('invalid_plant', `line ${number} has an id: idsFrom is for lists without ids`);
    },
  };
}

/** The id of a line that is refused for another reason; undefined if it has none that is an integer. */
function idIn(bytes: Buffer): bigint | undefined {
  try {
    return exactInteger(jsonMembers(bytes.toString(), ['id'])?.requested.get('id') ?? '');
  } catch {
    return undefined;
  }
}
