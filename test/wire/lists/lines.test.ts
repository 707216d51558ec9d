import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { linesOf, MAX_LINE } from '../../../src/adapters/import/lines.ts';
import { chunks, collected } from '../../support/plants/lists.ts';

const read = async (...parts: (string | Buffer)[]) =>
  (await collected(linesOf(chunks(...parts)))).map(({ number, bytes }) => [number, bytes.toString()]);

test('splits at line feeds, wherever the chunks end, and numbers the lines', async () => {
  // No byte above 0xee: two of them at the start would be a byte order mark, which the tests below are about.
  const bytes = fc
    .uint8Array({ maxLength: 60, max: 0xee })
    .map((array) => array.map((byte) => (byte % 4 === 0 ? 0x0a : byte)));
  await fc.assert(
    fc.asyncProperty(bytes, fc.array(fc.nat(60)), async (array, cuts) => {
      const whole = Buffer.from(array);
      const ends = [...cuts, whole.length].toSorted((a, b) => a - b);
      const parts = ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end));
      const lines = await collected(linesOf(chunks(...parts)));
      const expected = whole.toString('latin1').replace(/\n$/, '').split('\n');
      expect(lines.map((line) => line.bytes.toString('latin1'))).toEqual(whole.length === 0 ? [] : expected);
      expect(lines.map(({ number }) => number)).toEqual(lines.map((_, index) => index + 1));
    }),
  );
});

test('leaves out a byte order mark at the start only', async () => {
  expect(await read('\uFEFFa\n\uFEFFb')).toEqual([
    [1, 'a'],
    [2, '\uFEFFb'],
  ]);
  expect(await read(Buffer.from([0xef]), Buffer.from([0xbb, 0xbf]), 'a')).toEqual([[1, 'a']]);
});

test.each(['\uFEFFid,name\n1,a\n', '{"id":1}\n'])(
  'refuses the list %j in UTF-16 of either byte order',
  async (list) => {
    const message = 'the list must be in UTF-8, but it is in UTF-16; in Excel, save the list as "CSV UTF-8"';
    for (const bytes of [Buffer.from(list, 'utf16le'), Buffer.from(list, 'utf16le').swap16()]) {
      await expect(read(bytes)).rejects.toThrow(new Error(message));
    }
  },
);

test('keeps no more than the beginning of a line that is too long, and goes on after it', async () => {
  const chunk = 'x'.repeat(100_000);
  const lines = await collected(linesOf(chunks('a\n', ...Array(50).fill(chunk), '\nb')));
  expect(lines.map(({ bytes, problem }) => [bytes.length, problem])).toEqual([
    [1, undefined],
    [MAX_LINE, 'the line is larger than 1048576 bytes'],
    [1, undefined],
  ]);
});

test('takes a line of exactly the limit', async () => {
  expect(await collected(linesOf(chunks('x'.repeat(MAX_LINE), '\n')))).toMatchObject([{ problem: undefined }]);
});
