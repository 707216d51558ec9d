import { isUtf8 } from 'node:buffer';
import Type, { type Static, type TObject, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { PlantStoreError } from '../domain/errors.ts';
import { shown } from './shown.ts';

/** Names of unknown members that are noted. */
const MAX_UNKNOWN = 20;

/** RFC 8259 section 6: sign, integer part, fraction, exponent. */
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The number of digits of the largest int64. */
const MAX_DIGITS = 19;

/** As most clients write integers. */
const PLAIN_INTEGER = new RegExp(`^-?\\d{1,${MAX_DIGITS}}$`);

/**
 * The exact value of a JSON number, or undefined if it has a fractional part or more than 19 digits (no int64 has
 * more). `1.0` and `1e3` are integers (JSON Schema 2020-12, validation section 6.1.1). It counts digits and never
 * computes a power, so that an exponent of any size costs nothing.
 */
function exactInteger(source: string): bigint | undefined {
  if (PLAIN_INTEGER.test(source)) return BigInt(source);
  const [, sign, whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return sign === undefined ? undefined : 0n;
  // Without the zeros at the end: /0+$/ would take quadratic time.
  const [significant = ''] = /^\d*[1-9]/.exec(digits) ?? [];
  const zeros = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (zeros < 0 || significant.length + zeros > MAX_DIGITS) return undefined;
  return BigInt(sign + significant + '0'.repeat(zeros));
}

const ID = '"id"';

/** What follows the key of a number. */
const NUMBER = /^\s*:\s*([-+.\deE]*)/;

/** Values of JSON with several ids: a reviver takes half a microsecond for each, and 20 ms for a body of nothing else. */
const MAX_REVIVED = 4_000;

/** A double would hide digits and fractions: NaN stands for a number that is no integer of an int64's length. */
const exactId = (source: string) => exactInteger(source) ?? Number.NaN;

const exactIds = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  key === 'id' && typeof value === 'number' ? exactId(context?.source ?? '') : value;

/**
 * Parses JSON, with a byte order mark or without (RFC 8259 section 8.1), and its id as a bigint of the number that was sent.
 *
 * @throws SyntaxError if it is not JSON, RangeError if it is nested too deep, PlantStoreError `malformed_json` if it has
 * several ids among too many values
 */
export function parseJson(text: string): unknown {
  const json = withPlainKeys(text.replace(/^\uFEFF/, ' '));
  const first = json.indexOf(ID);
  // Within a string, a quote has a backslash before it, so only the text "id" as a value would look like another.
  if (json.indexOf(ID, first + 1) > first) {
    if ((json.match(/[,:[{]/g)?.length ?? 0) <= MAX_REVIVED) return JSON.parse(json, exactIds);
    throw new PlantStoreError('malformed_json', `JSON with several ids must have at most ${MAX_REVIVED} values`);
  }
  const parsed = JSON.parse(json);
  if (typeof parsed?.id === 'number') parsed.id = exactId(NUMBER.exec(json.slice(first + ID.length))?.[1] ?? '');
  return parsed;
}

/** A string, or its beginning if it has no end, and what follows a key: it takes linear time. */
const STRING = /"(?:[^"\\]|\\.?)*"?(?=(\s*:)?)/gs;

/** V8 may take a key with escapes for that of another request (nodejs/node#63785). All characters stay in their places. */
function withPlainKeys(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(STRING, (string: string, colon?: string) => {
    if (colon === undefined || !string.includes('\\')) return string;
    try {
      return JSON.stringify(JSON.parse(string)).padEnd(string.length);
    } catch {
      // V8 says where it is in the whole text.
      return string;
    }
  });
}

/**
 * Creates a parser from bytes to a value of the schema, its `id` a bigint of exactly the number that was sent. Unknown
 * members are dropped, or refused if the schema has `additionalProperties: false`.
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
  // An id is a bigint here.
  const properties: Record<string, TSchema> = { ...schema.properties };
  if (properties.id !== undefined) properties.id = Type.BigInt();
  const validator = Compile({ ...schema, properties });
  const { description: rule, additionalProperties } = schema as {
    description?: string;
    additionalProperties?: unknown;
  };
  const isClosed = additionalProperties === false;
  const names = Object.keys(properties);
  const ruleOf = (name: string) => (schema.properties[name] as { description?: string } | undefined)?.description;

  return (bytes) => {
    const sent = objectIn(decode(bytes, subject), subject);
    if (sent === undefined) throw invalid(`${subject} must be ${rule}`);
    if (isClosed || noteUnknown !== undefined) {
      const unknown = Object.keys(sent).filter((name) => !names.includes(name));
      if (unknown.length > 0) noteUnknown?.(unknown.slice(0, MAX_UNKNOWN));
      const known = names.join(', ');
      if (isClosed && unknown[0] !== undefined)
        throw invalid(`${shown(unknown[0])} is unknown: ${subject} may have only ${known}`);
    }
    const value: Record<string, unknown> = {};
    for (const name of names) if (Object.hasOwn(sent, name)) value[name] = sent[name];
    if (validator.Check(value)) return value as Static<Schema>;
    const [first] = validator.Errors(value);
    const missing = first?.keyword === 'required' ? first.params.requiredProperties[0] : undefined;
    if (missing !== undefined) throw invalid(`${missing} is missing: it must be ${ruleOf(missing)}`);
    const name = first?.instancePath.split('/')[1] ?? '';
    const isQuoted = name === 'id' && typeof value.id === 'string' && exactInteger(value.id) !== undefined;
    throw invalid(`${name} must be ${ruleOf(name)}${isQuoted ? ', without quotes' : ''}`);
  };
}

function invalid(message: string): PlantStoreError {
  return new PlantStoreError('invalid_plant', message);
}

function decode(bytes: Buffer, subject: string): string {
  if (!isUtf8(bytes)) throw new PlantStoreError('malformed_json', `${subject} must be valid UTF-8`);
  return bytes.toString('utf8');
}

/** @returns undefined if it is JSON, but no object */
function objectIn(text: string, subject: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch (error) {
    if (error instanceof PlantStoreError) throw error;
    const rule = error instanceof RangeError ? 'not be nested so deep' : `be valid JSON${placeOf(text, `${error}`)}`;
    throw new PlantStoreError('malformed_json', `${subject} must ${rule}`);
  }
}

/** Where a text is not JSON, if V8 says it. */
function placeOf(text: string, message: string): string {
  const position = / JSON at position (\d+)/.exec(message)?.[1];
  if (position === undefined) return '';
  const at = Number(position);
  const isName = /^[\w'\\]/.test(text.slice(at)) && /[{,]$/.test(text.slice(0, at).trimEnd());
  return `; the error is at character ${at + 1}${isName ? ': names need double quotes' : ''}`;
}
