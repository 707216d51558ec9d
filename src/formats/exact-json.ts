import { MAX_INT64 } from '../domain/plant.ts';

/** A number (RFC 8259 section 6): its sign, integer part, fraction and exponent. */
const JSON_NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const DIGITS_MAX = `${MAX_INT64}`.length;

/**
 * The exact value of a JSON number, where a double would hide digits and fractions. NaN stands for a fraction, and for a
 * number of more than 19 digits, which no int64 has. `1.0` and `1e3` are integers (JSON Schema 2020-12, validation section
 * 6.1.1). It counts digits and never computes a power, so that an exponent of any size costs nothing.
 */
function exactId(source: string): bigint | number {
  const [, sign, whole = '', fraction = '', exponent = '0'] = JSON_NUMBER.exec(source) ?? [];
  if (sign === undefined) return Number.NaN;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  /** The number of digits before the decimal point. */
  const length = digits.length - fraction.length + Number(exponent);
  if (length < 1 || length > DIGITS_MAX || /[1-9]/.test(digits.slice(length))) return Number.NaN;
  return BigInt(sign + digits.slice(0, length).padEnd(length, '0'));
}

const reviveId = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  key === 'id' && typeof value === 'number' ? exactId(context?.source ?? '') : value;

const ID = '"id"';

/** What follows the key of a number. */
const NUMBER = /^\s*:\s*([-+.\deE]*)/;

/**
 * Parses JSON, with a byte order mark or without (RFC 8259 section 8.1), and its id as a bigint of the number that was sent.
 *
 * @throws SyntaxError if it is not JSON, RangeError if it is nested too deep
 */
export function parseJson(text: string): unknown {
  const json = withPlainKeys(text.startsWith('\uFEFF') ? ` ${text.slice(1)}` : text);
  // Quotes within a string are escaped, so only a key looks like this, or a value that is the text "id".
  const first = json.indexOf(ID);
  // A reviver takes more than the rest of the parsing: half a microsecond for each value.
  if (json.indexOf(ID, first + 1) > first) return JSON.parse(json, reviveId);
  const value = JSON.parse(json);
  if (typeof value?.id === 'number') value.id = exactId(NUMBER.exec(json.slice(first + ID.length))?.[1] ?? '');
  return value;
}

declare global {
  /** ECMAScript 2026 has it. TypeScript's own types do not yet. */
  interface JSON {
    rawJSON(json: string): object;
  }
}

/** Writes JSON in which each bigint is a number with all its digits, which JSON.stringify alone refuses to write. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? JSON.rawJSON(`${member}`) : member));
}

/** Matches a string, or its beginning if it has no end, and the colon that follows a key. It takes linear time. */
const STRING = /"(?:[^"\\]|\\.?)*"?(?=(\s*:)?)/gs;

/** V8 may take a key with escapes for that of another request (nodejs/node#63785). All characters stay in their places. */
function withPlainKeys(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(STRING, (string: string, colon?: string) => {
    if (colon === undefined || !string.includes('\\')) return string;
    try {
      return JSON.stringify(JSON.parse(string)).padEnd(string.length);
    } catch {
      // V8 will report its place in the whole text.
      return string;
    }
  });
}
