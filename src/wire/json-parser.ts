import { isUtf8 } from 'node:buffer';
import type { Static, TObject } from 'typebox';
import { Compile } from 'typebox/compile';
import { PlantStoreError } from '../domain/errors.ts';
import { exactInteger } from './json-integer.ts';
import { jsonMembers } from './json-members.ts';
import { shown } from './shown.ts';

/**
 * Creates a parser from bytes to a value of the schema, with every member of `format: int64` as a bigint of exactly the
 * number that was sent. Unknown members are dropped, or refused if the schema has `additionalProperties: false`.
 *
 * @param subject the input's name in error messages
 * @param noteUnknown called with the names of the first unknown members
 * @returns a function that throws PlantStoreError `malformed_json` if the input is not JSON in UTF-8 or nested too deep,
 * and `invalid_plant`, naming the member and what it must be, if it does not match the schema.
 */
export function jsonParser<Schema extends TObject>(
  schema: Schema,
  subject = 'the body',
  noteUnknown?: (names: readonly string[]) => void,
): (bytes: Buffer) => Static<Schema> {
  const validator = Compile(schema);
  const { description: rule, additionalProperties } = schema as {
    description?: string;
    additionalProperties?: unknown;
  };
  const isClosed = additionalProperties === false;
  const names = Object.keys(schema.properties);
  const property = (name: string): { format?: string; description?: string } | undefined => schema.properties[name];
  const int64Names = names.filter((name) => property(name)?.format === 'int64');
  const mustBe = (name: string, value?: unknown) => {
    const isQuoted = int64Names.includes(name) && typeof value === 'string' && exactInteger(value) !== undefined;
    return invalid(`${name} must be ${property(name)?.description}${isQuoted ? ', without quotes' : ''}`);
  };

  return (bytes) => {
    const members = membersOf(decode(bytes, subject), names, subject);
    if (members === undefined) throw invalid(`${subject} must be ${rule}`);
    const { requested, otherKeys } = members;
    if (otherKeys.length > 0 && (isClosed || noteUnknown !== undefined)) {
      const unknown = otherKeys.map((key): string => JSON.parse(key));
      noteUnknown?.(unknown);
      const known = names.join(', ');
      if (isClosed) throw invalid(`${shown(unknown[0] ?? '')} is unknown: ${subject} may have only ${known}`);
    }
    const value: Record<string, unknown> = {};
    for (const [name, source] of requested) value[name] = scalar(source);
    if (!validator.Check(value as unknown)) {
      const [first] = validator.Errors(value);
      const missing = first?.keyword === 'required' ? first.params.requiredProperties[0] : undefined;
      if (missing !== undefined) throw invalid(`${missing} is missing: it must be ${property(missing)?.description}`);
      const name = first?.instancePath.split('/')[1] ?? '';
      throw mustBe(name, value[name]);
    }
    for (const name of int64Names) {
      const source = requested.get(name);
      if (source === undefined) continue;
      value[name] = exactInteger(source);
      if (value[name] === undefined) throw mustBe(name);
    }
    return value as Static<Schema>;
  };
}

function invalid(message: string): PlantStoreError {
  return new PlantStoreError('invalid_plant', message);
}

function decode(bytes: Buffer, subject: string): string {
  if (!isUtf8(bytes)) throw new PlantStoreError('malformed_json', `${subject} must be valid UTF-8`);
  return bytes.toString('utf8');
}

function membersOf(text: string, names: readonly string[], subject: string): ReturnType<typeof jsonMembers> {
  try {
    return jsonMembers(text, names);
  } catch (error) {
    const rule = error instanceof RangeError ? error.message : 'be valid JSON';
    throw new PlantStoreError('malformed_json', `${subject} must ${rule}`);
  }
}

/** No member of the wire contract is an object or an array: both become an object, which no schema accepts either. */
function scalar(source: string): unknown {
  return source.startsWith('{') || source.startsWith('[') ? {} : JSON.parse(source);
}
