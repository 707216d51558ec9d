import { expect, test } from '@jest/globals';
import { shown } from '../../src/formats/shown.ts';

test.each([
  ['1\u200E2', '"1\\u200e2"'],
  ['1\u{E0001}2', '"1\\udb40\\udc012"'],
  ['a b', '"a b"'],
])('shows what nobody would see in %j as an escape of JSON', (text, expected) => {
  expect(shown(text)).toBe(expected);
  expect(JSON.parse(shown(text))).toBe(text);
});
