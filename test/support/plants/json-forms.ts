import fc, { type Arbitrary } from 'fast-check';

/* The many ways in which JSON can write one value. */

const edges = [0n, 2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n, -(2n ** 63n), 10n ** 18n, -(10n ** 18n)];

/** Any int64, often one close to where a double or the range ends, or one with many trailing zeros. */
export const int64: Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc
    .tuple(fc.constantFrom(...edges), fc.bigInt({ min: -9n, max: 9n }))
    .map(([edge, distance]) => edge + distance)
    .filter((id) => BigInt.asIntN(64, id) === id),
  fc.tuple(fc.bigInt({ min: -9n, max: 9n }), fc.bigInt({ min: 0n, max: 17n })).map(([digit, e]) => digit * 10n ** e),
);

/** An integer as a JSON number: zeros added or taken away at the end, the point moved, the exponent making up for it. */
export function writtenInteger(value: bigint): Arbitrary<string> {
  const sign = value < 0n ? '-' : '';
  const digits = String(value).replace('-', '');
  const trailing = /0*$/.exec(digits.slice(1))?.[0].length ?? 0;
  return fc
    .record({
      sign: value === 0n ? fc.constantFrom('', '-') : fc.constant(sign),
      zeros: fc.integer({ min: -trailing, max: 8 }),
      decimals: fc.nat(30),
      e: fc.constantFrom('e', 'E'),
      plus: fc.constantFrom('', '+'),
      exponentZeros: fc.constantFrom('', '000'),
      exponentAlways: fc.boolean(),
    })
    .map(({ sign, zeros, decimals, e, plus, exponentZeros, exponentAlways }) => {
      const all = zeros < 0 ? digits.slice(0, zeros) : digits + '0'.repeat(zeros);
      const padded = all.padStart(decimals + 1, '0');
      const point = padded.length - decimals;
      const whole = padded.slice(0, point).replace(/^0+(?=\d)/, '');
      const fraction = decimals > 0 ? `.${padded.slice(point)}` : '';
      const exponent = decimals - zeros;
      const exponentSign = exponent < 0 ? '-' : plus;
      const written = `${e}${exponentSign}${exponentZeros}${Math.abs(exponent)}`;
      return `${sign}${whole}${fraction}${exponent === 0 && !exponentAlways ? '' : written}`;
    });
}

/** A text as a JSON string, with any of its characters as \u escapes. */
export function writtenString(text: string): Arbitrary<string> {
  const characters = [...text];
  return fc.array(fc.boolean(), { minLength: characters.length, maxLength: characters.length }).map((chosen) => {
    const written = characters.map((character, n) =>
      chosen[n] ? escaped(character) : JSON.stringify(character).slice(1, -1),
    );
    return `"${written.join('')}"`;
  });
}

function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
