import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { exactInteger } from '../../src/wire/json-integer.ts';
import { int64, writtenInteger } from '../support/plants/json-forms.ts';

const MANY = 200_000;

test.each([
  ['a fractional part', ['0.1', '1.5', '-1e-1', '1e-999999999', '1.00000000000000000000001', '0.99999999999999999999']],
  ['more than 19 digits', ['10000000000000000000', '1e19', '1e999999999', '-1e999999999', `1e${'9'.repeat(400)}`]],
  ['what no JSON number has', ['', '"1"', 'null', '[1]', '1 ', '0x1', '1n', '.5', 'Infinity']],
])('reads what has %s as no integer', (_what, sources) => {
  for (const source of sources) expect([source, exactInteger(source)]).toEqual([source, undefined]);
});

test.each<[string, string, bigint | undefined]>([
  ['19 digits beyond the range of an int64, which the domain refuses', '-9999999999999999999', -9999999999999999999n],
  ['zero with a small exponent', '-0.0E-999999999', 0n],
  ['200,000 digits', '9'.repeat(MANY), undefined],
  ['200,000 trailing zeros that the exponent takes back', `7${'0'.repeat(MANY)}e-${MANY}`, 7n],
  ['200,000 zeros after the point and a one', `7.${'0'.repeat(MANY)}1`, undefined],
  ['200,000 zeros in front of the exponent', `7e${'0'.repeat(MANY)}1`, 70n],
])('reads %s', (_name, source, value) => {
  expect(exactInteger(source)).toBe(value);
});

test('reads any int64 exactly, however it is written', () => {
  const written = int64.chain((value) => writtenInteger(value).map((source) => ({ value, source })));
  fc.assert(
    fc.property(written, ({ value, source }) => {
      expect(() => JSON.parse(source)).not.toThrow();
      expect(exactInteger(source)).toBe(value);
    }),
    { numRuns: 1_000 },
  );
});
