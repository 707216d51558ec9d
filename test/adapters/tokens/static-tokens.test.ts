import { expect, test } from '@jest/globals';
import { staticTokens } from '../../../src/adapters/tokens/static-tokens.ts';
import { allPermissions, readOnly } from '../../../src/application/permissions.ts';

const tokens = ['the-first-of-the-tokens', 'the-second-of-the-tokens', 'the-third-of-the-tokens'];

test('accepts each of its tokens and nothing that is only like one', () => {
  const verify = staticTokens({ full: tokens.slice(0, 2), reading: tokens.slice(2) });
  expect(tokens.map(verify)).toEqual([allPermissions, allPermissions, readOnly]);
  const alike = tokens.flatMap((token) => [token.slice(0, -1), `${token}x`, token.toUpperCase(), ` ${token}`, '']);
  expect([...alike, tokens.join()].filter(verify)).toEqual([]);
});

test('accepts nothing if it has no tokens', () => {
  expect(['', 'undefined', ...tokens].filter(staticTokens({ full: [], reading: [] }))).toEqual([]);
});
