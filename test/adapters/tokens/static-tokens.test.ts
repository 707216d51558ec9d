import * as crypto from 'node:crypto';
import { expect, jest, test } from '@jest/globals';

const timingSafeEqual = jest.fn(crypto.timingSafeEqual);
jest.unstable_mockModule('node:crypto', () => ({ ...crypto, timingSafeEqual }));
const { staticTokens } = await import('../../../src/adapters/tokens/static-tokens.ts');
const { allPermissions, readOnly } = await import('../../../src/application/permissions.ts');

const tokens = ['the-first-of-the-tokens', 'the-second-of-the-tokens', 'the-third-of-the-tokens'];

test('accepts each of its tokens and nothing that is only like one', () => {
  const verify = staticTokens(tokens, readOnly);
  expect(tokens.map(verify)).toEqual([readOnly, readOnly, readOnly]);
  const alike = tokens.flatMap((token) => [token.slice(0, -1), `${token}x`, token.toUpperCase(), ` ${token}`, '']);
  expect([...alike, tokens.join()].filter(verify)).toEqual([]);
});

test('accepts nothing if it has no tokens', () => {
  expect(['', 'undefined', ...tokens].filter(staticTokens([], allPermissions))).toEqual([]);
});

/* What cannot be measured reliably, a difference of nanoseconds, is shown by what would make it. */
test.each([
  ['the first one', 'the-first-of-the-tokens'],
  ['the last one', 'the-third-of-the-tokens'],
  ['one that is wrong at its end', 'the-first-of-the-tokenx'],
  ['a short one', 'x'],
  ['a very long one', 'x'.repeat(16_000)],
])('compares %s with every token, over its whole length and in constant time', (_name, offered) => {
  const verify = staticTokens(tokens, allPermissions);
  timingSafeEqual.mockClear();
  verify(offered);
  expect(timingSafeEqual.mock.calls.map(([accepted]) => accepted.byteLength)).toEqual([64, 64, 64]);
});
