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
export function exactInteger(source: string): bigint | undefined {
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
