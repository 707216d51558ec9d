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

/** A double would hide digits and fractions: NaN stands for a number that is no integer of an int64's length. */
const exactId = (source: string) => exactInteger(source) ?? Number.NaN;

const reviveId = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  key === 'id' && typeof value === 'number' ? exactId(context?.source ?? '') : value;

/** What follows the key of a number. */
const NUMBER = /^\s*:\s*([-+.\deE]*)/;

/**
 * Parses JSON, with a byte order mark or without (RFC 8259 section 8.1), and its id as a bigint of the number that was sent.
 *
 * @throws SyntaxError if it is not JSON, RangeError if it is nested too deep
 */
export function parseJson(text: string): unknown {
  const json = withPlainKeys(text.replace(/^\uFEFF/, ' '));
  // Within a string, a quote has a backslash before it, so only the text "id" as a value would look like another.
  const [, afterId = '', ...afterOthers] = json.split('"id"');
  // A reviver takes more than the rest of the parsing: half a microsecond for each value.
  if (afterOthers.length > 0) return JSON.parse(json, reviveId);
  const parsed = JSON.parse(json);
  if (typeof parsed?.id === 'number') parsed.id = exactId(NUMBER.exec(afterId)?.[1] ?? '');
  return parsed;
}

declare global {
  /** As ECMAScript 2026 has it, and TypeScript's own types do not yet. */
  interface JSON {
    rawJSON(json: string): object;
  }
}

/** Writes JSON in which each bigint is a number with all its digits, which JSON.stringify alone refuses to write. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? JSON.rawJSON(`${member}`) : member));
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
