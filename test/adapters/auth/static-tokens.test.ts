import { expect, test } from '@jest/globals';
import { staticTokens } from '../../../src/adapters/auth/static-tokens.ts';
import { allPermissions, readOnly } from '../../../src/application/permissions.ts';

const tokens = ['the-first-of-the-tokens', 'the-second-of-the-tokens', 'the-third-of-the-tokens'];

test('accepts each of its tokens without its name, and nothing that is only like one', () => {
  const named = tokens.map((token, n) => ({ token, who: `name-${n}` }));
  const verify = staticTokens({ full: named.slice(0, 2), reading: named.slice(2) });
  const permissions = [allPermissions, allPermissions, readOnly];
  expect(tokens.map(verify)).toEqual(named.map(({ who }, n) => ({ permissions: permissions[n], who })));
  const alike = tokens.flatMap((token) => [token.slice(0, -1), `${token}x`, token.toUpperCase(), ` ${token}`, '']);
  expect([...alike, tokens.join(), `name-0:${tokens[0]}`].filter(verify)).toEqual([]);
});
