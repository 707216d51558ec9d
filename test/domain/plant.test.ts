import { expect, test } from '@jest/globals';
import { isSamePlant, validatePlant } from '../../src/domain/plant.ts';

const monstera = { id: 1n, name: 'Monstera deliciosa', tag: 'houseplant' };

test.each([-(2n ** 63n), -1n, 0n, 2n ** 53n + 1n, 2n ** 63n - 1n])('accepts the id %s', (id) => {
  expect(() => validatePlant({ ...monstera, id })).not.toThrow();
});

test.each([-(2n ** 63n) - 1n, 2n ** 63n])('refuses the id %s, which no int64 can hold', (id) => {
  const message = 'id must be an integer from -9223372036854775808 to 9223372036854775807';
  const refusal = expect.objectContaining({ code: 'invalid_plant', message });
  expect(() => validatePlant({ ...monstera, id })).toThrow(refusal);
});

test.each(['', 'Malus × domestica', '🌵', 'مُر', '\u{10FFFF}', '\uFFFE'])('accepts the text %j', (text) => {
  expect(() => validatePlant({ id: 1n, name: text })).not.toThrow();
  expect(() => validatePlant({ id: 1n, name: text, tag: text })).not.toThrow();
});

test.each(['\0', 'a\0b', '\uD800', 'a\uDC00b', '\uDC00\uD800'])('refuses the text %j and names the field', (text) => {
  expect(() => validatePlant({ ...monstera, name: text })).toThrow(/^name must be a string of at most 1000 characters/);
  expect(() => validatePlant({ ...monstera, tag: text })).toThrow(/^tag must be a string of at most 200 characters/);
});

test.each(['x', '\u{1F335}'])('takes names of 1,000 %s and tags of 200, and no longer ones', (sign) => {
  const longest = { id: 1n, name: sign.repeat(1_000), tag: sign.repeat(200) };
  expect(() => validatePlant(longest)).not.toThrow();
  expect(() => validatePlant({ ...longest, name: sign.repeat(1_001) })).toThrow(/^name must be/);
  expect(() => validatePlant({ ...longest, tag: sign.repeat(201) })).toThrow(/^tag must be/);
});

test('takes two records for the same plant only if every field is the same', () => {
  expect(isSamePlant(monstera, { ...monstera })).toBe(true);
  expect(isSamePlant(monstera, { ...monstera, id: 2n })).toBe(false);
  expect(isSamePlant(monstera, { ...monstera, name: 'Monstera adansonii' })).toBe(false);
  expect(isSamePlant(monstera, { ...monstera, tag: 'climber' })).toBe(false);
  expect(isSamePlant(monstera, { id: 1n, name: 'Monstera deliciosa' })).toBe(false);
});
