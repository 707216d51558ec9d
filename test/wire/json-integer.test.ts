import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { exactInteger } from '../../src/wire/json-integer.ts';
import { int64, writtenInteger } from '../support/plants/json-forms.ts';

const MANY = 200_000;

test.each<[string, bigint]>([
  ['0', 0n],
  ['-0', 0n],
  ['0.000', 0n],
  ['0e999999999', 0n],
  ['-0.0E-999999999', 0n],
  ['1', 1n],
  ['1.0', 1n],
  ['1e3', 1000n],
  ['1E+3', 1000n],
  ['1e0003', 1000n],
  ['10e-1', 1n],
  ['1.50e1', 15n],
  ['0.001e3', 1n],
  ['-12.5e1', -125n],
  ['9007199254740993', 9007199254740993n],
  ['9223372036854775807', 9223372036854775807n],
  ['9.223372036854775807e18', 9223372036854775807n],
  ['-9223372036854775808', -9223372036854775808n],
])('reads %s as exactly %s', (source, value) => {
  expect(exactInteger(source)).toBe(value);
});

test('keeps 19 digits exactly beyond the range of an int64 too, so that the domain can refuse them', () => {
  expect(exactInteger('9223372036854775808')).toBe(9223372036854775808n);
  expect(exactInteger('-9999999999999999999')).toBe(-9999999999999999999n);
});

test.each([
  ['a fractional part', ['0.1', '1.5', '-1e-1', '1e-999999999', '1.00000000000000000000001', '0.99999999999999999999']],
  ['more than 19 digits', ['10000000000000000000', '1e19', '1e999999999', '-1e999999999', `1e${'9'.repeat(400)}`]],
  ['what no JSON number has', ['', '"1"', 'null', '[1]', '1 ', '0x1', '1n', '.5', 'Infinity']],
])('reads what has %s as no integer', (_what, sources) => {
  for (const source of sources) expect([source, exactInteger(source)]).toEqual([source, undefined]);
});

test.each<[string, string, bigint | undefined]>([
  ['200,000 digits', '9'.repeat(MANY), undefined],
  ['200,000 trailing zeros', `1${'0'.repeat(MANY)}`, undefined],
  ['200,000 trailing zeros that the exponent takes back', `7${'0'.repeat(MANY)}e-${MANY}`, 7n],
  ['200,000 zeros after the point', `7.${'0'.repeat(MANY)}`, 7n],
  ['200,000 zeros after the point and a one', `7.${'0'.repeat(MANY)}1`, undefined],
  ['200,000 zeros after the point that the exponent takes back', `0.${'0'.repeat(MANY)}7e${MANY + 1}`, 7n],
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
    { numRuns: 5_000 },
  );
});
