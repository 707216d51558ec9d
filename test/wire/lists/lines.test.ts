import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linesOf } from '../../../src/wire/lists/lines.ts';

const read = (body: string | Buffer, joinsLines = false) => [...linesOf(Buffer.from(body), () => joinsLines)];

test('splits at line feeds, numbers the lines, and knows where each ends', () => {
  const bytes = fc
    .uint8Array({ maxLength: 60, min: 0x01, max: 0xee })
    .map((array) => array.map((byte) => (byte % 4 === 0 ? 0x0a : byte)));
  fc.assert(
    fc.property(bytes, (array) => {
      const whole = Buffer.from(array);
      const lines = read(whole);
      const expected = whole.toString('latin1').replace(/\n$/, '').split('\n');
      const texts = lines.map((line) => line.bytes.toString('latin1'));
      expect(texts).toEqual(whole.length === 0 ? [] : expected.map((line) => line.replace(/\r$/, '')));
      expect(lines.map(({ number }) => number)).toEqual(lines.map((_, index) => index + 1));
      expect(lines.map(({ end, hasEnd }) => hasEnd === (whole[end - 1] === 0x0a))).not.toContain(false);
      expect(lines.at(-1)?.end ?? 0).toBe(whole.length);
    }),
  );
});

test('joins the lines of an open quote, if it is asked to', () => {
  const body = '1,"a\nb"\n2,"c\n';
  expect(read(body, true)).toMatchObject([
    { number: 1, lastNumber: 2, end: 8, hasEnd: true, isOpen: false },
    { number: 3, lastNumber: 4, end: 13, hasEnd: false, isOpen: true },
  ]);
  expect(read(body)).toHaveLength(3);
});
