import { expect, test } from '@jest/globals';
import { shortenedLine } from '../../src/composition/log.ts';

const MOST = 4_096;
const lineOf = (value: object) => `${JSON.stringify(value)}\n`;

test.each([
  ['a short line', { path: '/plants' }],
  ['a line of exactly 4,096 bytes', { path: 'x'.repeat(MOST - lineOf({ path: '' }).length) }],
  ['a line of exactly 4,096 bytes in fewer characters', { path: `xx${'ä'.repeat((MOST - 14) / 2)}` }],
])('leaves %s as it is', (_name, value) => {
  expect(shortenedLine(lineOf(value), MOST)).toBe(lineOf(value));
});

test.each([
  ['a byte too long', { level: 30, path: 'x'.repeat(MOST) }],
  ['long in one string', { level: 30, path: '/x'.repeat(8_000), requestId: 'abc' }],
  ['long in bytes only', { path: '€'.repeat(2_000) }],
  ['full of characters that JSON escapes', { path: '\u0000"\\'.repeat(3_000) }],
  ['long in an error and its causes', { err: { stack: 'at x\n'.repeat(900), cause: { stack: 'at y\n'.repeat(900) } } }],
  ['cut within a surrogate pair', { path: `x${'🌱'.repeat(4_000)}`, more: 'x' }],
])('shortens a line that is %s to valid JSON with the same members', (_name, value) => {
  const line = shortenedLine(lineOf(value), MOST);
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MOST);
  expect(Buffer.byteLength(line)).toBeGreaterThan(MOST / 8);
  expect(line).toMatch(/^[^\n]+\n$/);
  // Half of a character: JSON.stringify escapes it, and strict parsers refuse that.
  expect(line).not.toMatch(/\\ud/);
  expect(Object.keys(JSON.parse(line))).toEqual(Object.keys(value));
});

test('shortens the longest strings only', () => {
  const line = shortenedLine(lineOf({ level: 30, requestId: 'abc', path: '/'.repeat(9_000) }), MOST);
  expect(JSON.parse(line)).toEqual({ level: 30, requestId: 'abc', path: expect.stringMatching(/^\/{1000,}…$/) });
});
