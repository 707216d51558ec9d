import { isUtf8 } from 'node:buffer';
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { PlantStoreError } from '../domain/errors.ts';
import { parseJson } from './exact-json.ts';
import { decimalId } from './plant-id.ts';
import { shown } from './shown.ts';

/**
 * Creates a parser from bytes, or text, to a value of the schema, its `id` a bigint of exactly the number that was sent. Unknown
 * members are dropped, or refused if the schema has `additionalProperties: false`.
 *
 * @param subject the input's name in error messages
 * @returns a function that passes the names of unknown members to `noteUnknown`, and throws PlantStoreError `malformed_json` if
 * the input is not JSON in UTF-8 or nested too deep, and `invalid_plant`, naming the member and what it must be, if it does not
 * match the schema.
 */
export function jsonParser<Schema extends TObject>(
  schema: Schema,
  subject = 'the body',
): (input: Buffer | string, noteUnknown?: (names: readonly string[]) => void) => Static<Schema> {
  // The id that is checked is a bigint.
  const properties: Record<string, TSchema> = { ...schema.properties };
  if (properties.id !== undefined) properties.id = Type.BigInt();
  const validator = Compile({ ...schema, properties });
  const isClosed = 'additionalProperties' in schema && schema.additionalProperties === false;
  const names = Object.keys(properties);
  const ruleOf = (member: object = {}) => ('description' in member ? member.description : undefined);

  return (input, noteUnknown) => {
    const object = objectIn(input, subject);
    if (object === undefined) throw invalid(`${subject} must be ${ruleOf(schema)}`);
    const unknown = Object.keys(object).filter((name) => !names.includes(name));
    noteUnknown?.(unknown);
    if (isClosed && unknown[0] !== undefined)
      throw invalid(`${shown(unknown[0])} is unknown: ${subject} may have only ${names.join(', ')}`);
    const isKnown = ([name]: readonly [string, unknown]) => names.includes(name);
    const value = unknown.length > 0 ? Object.fromEntries(Object.entries(object).filter(isKnown)) : object;
    if (validator.Check(value)) return value as Static<Schema>;
    const [, [first]] = validator.Errors(value);
    const missingName = first?.keyword === 'required' ? first.params.requiredProperties[0] : undefined;
    if (missingName !== undefined)
      throw invalid(`${missingName} is missing: it must be ${ruleOf(schema.properties[missingName])}`);
    const name = first?.instancePath.split('/')[1] ?? '';
    const isQuoted = name === 'id' && typeof value.id === 'string' && decimalId.parse(value.id) !== undefined;
    throw invalid(`${name} must be ${ruleOf(schema.properties[name])}${isQuoted ? ', without quotes' : ''}`);
  };
}

function invalid(message: string): PlantStoreError {
  return new PlantStoreError('invalid_plant', message);
}

/** @returns undefined if it is JSON, but no object */
function objectIn(input: Buffer | string, subject: string): Readonly<Record<string, unknown>> | undefined {
  if (typeof input !== 'string' && !isUtf8(input))
    throw new PlantStoreError('malformed_json', `${subject} must be valid UTF-8`);
  const text = input.toString();
  try {
    const value = parseJson(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch (error) {
    const rule = error instanceof RangeError ? 'not be nested so deep' : `be valid JSON${placeOf(text, `${error}`)}`;
    throw new PlantStoreError('malformed_json', `${subject} must ${rule}`);
  }
}

/** The place where a text is not JSON, if V8 reports it. */
function placeOf(text: string, message: string): string {
  const position = / JSON at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const at = Number(position);
  const isName = /^[\w'\\]/.test(text.slice(at)) && /[{,]$/.test(text.slice(0, at).trimEnd());
  return `; the error is at character ${at + 1}${isName ? ': names need double quotes' : ''}`;
}
