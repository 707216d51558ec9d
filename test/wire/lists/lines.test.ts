import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linesOf } from '../../../src/wire/lists/lines.ts';

const read = (body: string | Buffer, joinsLines = false) => [...linesOf(Buffer.from(body), false, () => joinsLines)];

test('splits at line feeds, numbers the lines, and knows where each ends', () => {
  // No octet above 0xee: two of them at the start would be a byte order mark, which the tests below are about.
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

test('leaves out a byte order mark at the start only', () => {
  expect(read('\uFEFFa\n\uFEFFb').map(({ bytes }) => bytes.toString())).toEqual(['a', '\uFEFFb']);
});

test('joins the lines of an open quote, if it is asked to', () => {
  const body = '1,"a\nb"\n2,"c\n';
  expect(read(body, true)).toMatchObject([
    { number: 1, lastNumber: 2, end: 8, hasEnd: true, isOpen: false },
    { number: 3, lastNumber: 4, end: 13, hasEnd: false, isOpen: true },
  ]);
  expect(read(body)).toHaveLength(3);
});

test.each(['\uFEFFid,name\n1,a\n', '{"id":1}\n'])('refuses the list %j in UTF-16 of either byte order', (list) => {
  const message = 'line 1: the list must be in UTF-8, but it is in UTF-16; in Excel, save the list as "CSV UTF-8"';
  for (const bytes of [Buffer.from(list, 'utf16le'), Buffer.from(list, 'utf16le').swap16()]) {
    expect(() => read(bytes)).toThrow(message);
  }
});

test.each(['a\0,1\n', '\0,1\n', '\0\0\0\0'])('does not take U+0000 in %j for UTF-16', (list) => {
  expect(read(list)).toHaveLength(1);
});
