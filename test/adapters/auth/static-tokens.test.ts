import { expect, test } from '@jest/globals';
import { staticTokens } from '../../../src/adapters/auth/static-tokens.ts';
import { allPermissions, readOnly } from '../../../src/application/permissions.ts';

const tokens = ['the-first-of-the-tokens', 'the-second-of-the-tokens', 'the-third-of-the-tokens'];

test('accepts each of its tokens and nothing that is only like one', () => {
  const verify = staticTokens({ full: tokens.slice(0, 2), reading: tokens.slice(2) });
  expect(tokens.map((token) => verify(token)?.permissions)).toEqual([allPermissions, allPermissions, readOnly]);
  const alike = tokens.flatMap((token) => [token.slice(0, -1), `${token}x`, token.toUpperCase(), ` ${token}`, '']);
  expect([...alike, tokens.join()].filter(verify)).toEqual([]);
});

test('knows the name of a token, which is no part of the token', () => {
  const [first = '', second = '', third = ''] = tokens;
  const verify = staticTokens({ full: [`anna:${first}`, `anna:${second}`, third], reading: ['r.2_d-2:=='] });
  expect(tokens.map((token) => verify(token)?.who)).toEqual(['anna', 'anna', undefined]);
  expect(verify('==')).toEqual({ permissions: readOnly, who: 'r.2_d-2' });
  expect(verify(`anna:${first}`)).toBeUndefined();
});

test('accepts nothing if it has no tokens', () => {
  expect(['', 'undefined', ...tokens].filter(staticTokens({ full: [], reading: [] }))).toEqual([]);
});
