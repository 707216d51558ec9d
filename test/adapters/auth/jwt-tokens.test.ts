import { createHmac } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { type JwtOptions, jwtTokens } from '../../../src/adapters/auth/jwt-tokens.ts';
import type { TokenVerifier } from '../../../src/application/permissions.ts';
import { eventually } from '../../support/eventually.ts';
import { atEnd, forEachTest } from '../../support/lifetimes.ts';
import {
  AUDIENCE,
  ISSUER,
  type SigningKey,
  signingKey,
  startIdentityProvider,
  tokenOf,
} from '../../support/servers/identity-provider.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const MEBIBYTE = 1024 ** 2;

let key: SigningKey;
let otherKey: SigningKey;
beforeAll(async () => {
  key = await signingKey('first');
  otherKey = await signingKey('second');
});

/** All but the date, which the tests put forward: sockets wait as ever. */
const REAL_TIME = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;

const provider = forEachTest(() => startIdentityProvider(key));
const logged: string[] = [];
beforeEach(() => {
  logged.length = 0;
  jest.useFakeTimers({ doNotFake: [...REAL_TIME] });
});
afterEach(() => void jest.useRealTimers());

function pass(milliseconds: number): void {
  jest.setSystemTime(Date.now() + milliseconds);
}

function verifier(options: Partial<JwtOptions> = {}): TokenVerifier {
  const known = { jwksUrl: provider.url, allowHttp: false, issuer: ISSUER, audiences: ['woods', AUDIENCE] };
  const scopes = { scopeClaims: ['scope', 'scp'], readScope: undefined, writeScope: undefined };
  return jwtTokens({ ...known, ...scopes, ...options }, pino({}, { write: (line: string) => logged.push(line) }));
}

/** What a request with this token is answered. */
async function outcome(verify: TokenVerifier, token: string): Promise<'accepted' | 'refused' | 'unavailable'> {
  try {
    return (await verify(token)) ? 'accepted' : 'refused';
  } catch (error) {
    expect(error).toMatchObject({ code: 'token_unverifiable' });
    return 'unavailable';
  }
}

/** One that has fetched the keys. */
async function verifierWithKeys(options: Partial<JwtOptions> = {}): Promise<TokenVerifier> {
  const verify = verifier(options);
  expect(await outcome(verify, await tokenOf(key, { jti: 'the first one' }))).toBe('accepted');
  return verify;
}

const now = () => Math.floor(Date.now() / SECOND);

test.each<[string, 'accepted' | 'refused', () => Record<string, unknown>]>([
  ['of another issuer', 'refused', () => ({ iss: `${ISSUER}/` })],
  ['for the first of ours', 'accepted', () => ({ aud: 'woods' })],
  ['without an audience, but for this client', 'accepted', () => ({ aud: undefined, client_id: AUDIENCE })],
  ['for another audience, of this client', 'refused', () => ({ aud: 'trees', client_id: AUDIENCE })],
  ['that has just expired, by a clock a little off', 'accepted', () => ({ exp: now() - 25 })],
  ['that never expires', 'refused', () => ({ exp: undefined })],
])('a token %s is %s', async (_name, expected, claims) => {
  expect(await outcome(verifier(), await tokenOf(key, claims()))).toBe(expected);
});

test('logs why a token is refused, once a minute for each reason, without its content', async () => {
  const verify = verifier();
  const refused = [{ aud: 'trees' }, { aud: 'secret-trees' }, { iss: 'another' }, { exp: now() - 60 }];
  for (const claims of refused) expect(await outcome(verify, await tokenOf(key, claims))).toBe('refused');
  expect(await outcome(verify, '..')).toBe('refused');
  const invalid = 'ERR_JWT_CLAIM_VALIDATION_FAILED';
  const reasons = [`${invalid} aud`, `${invalid} iss`, 'ERR_JWT_EXPIRED exp', 'ERR_JWS_INVALID'];
  expect(logged.map((line) => JSON.parse(line))).toMatchObject(
    reasons.map((reason) => ({ msg: 'a signed token is not accepted', reason })),
  );
  expect(logged.join('')).not.toContain('trees');
});

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('refuses a token that is forged with what everybody knows, or that is none', async () => {
  const verify = verifier();
  const [, claims = ''] = (await tokenOf(key)).split('.');
  const signedByHash = `${encoded({ alg: 'HS256', kid: 'first' })}.${claims}`;
  const forged = [
    `${encoded({ alg: 'none' })}.${claims}.`,
    `${signedByHash}.${createHmac('sha256', JSON.stringify(key.jwk)).update(signedByHash).digest('base64url')}`,
    await tokenOf({ ...otherKey, jwk: key.jwk }),
    'token-for-the-tests',
  ];
  for (const token of forged) expect([token, await outcome(verify, token)]).toEqual([token, 'refused']);
});

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];

test.each(ALGORITHMS)('accepts a signature by %s, and no other spelling of it', async (alg) => {
  const signer = await signingKey('key', alg);
  provider.publish(otherKey, signer);
  const verify = verifier();
  const good = await tokenOf(signer);
  const [end = ''] = good.slice(-1);
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.replace(end, '');
  const others = [...letters].map((letter) => good.slice(0, -1) + letter);
  const accepted: string[] = [];
  for (const token of [...others, `${good}=`, `${good.slice(0, -1)} ${end}`]) {
    if ((await outcome(verify, token)) !== 'refused') accepted.push(token.slice(-2));
  }
  expect(accepted).toEqual([]);
  expect(await outcome(verify, good)).toBe('accepted');
});

const READ = { readScope: 'plants:read' };
const WRITE = { writeScope: 'plants:write' };

const BOTH = { ...READ, ...WRITE };
/** Tokens as these providers make them. */
const ENTRA = { ...BOTH, scopeClaims: ['roles', 'scp'] };
const AUTH0 = { ...BOTH, scopeClaims: ['permissions', 'https://plants.example/roles'] };
const KEYCLOAK = { ...BOTH, scopeClaims: ['realm_access.roles', 'resource_access.plants.roles'] };
const KUBERNETES = { ...BOTH, scopeClaims: ['kubernetes.io.serviceaccount.name'] };
const COGNITO = { token_use: 'access', aud: undefined, client_id: AUDIENCE };

test.each<[Partial<JwtOptions>, Record<string, unknown>, string]>([
  [BOTH, { scope: 'openid plants:read' }, 'read'],
  [BOTH, { scope: 'plants:read', scp: ['plants:write'] }, 'read create change'],
  [BOTH, { scope: 1, scp: [['plants:read'], 1, null, { scope: 'plants:read' }] }, ''],
  [
    { ...WRITE, scopeClaims: ['cognito:groups'] },
    { ...COGNITO, 'cognito:groups': ['plants:write'] },
    'read create change',
  ],
  [ENTRA, { idtyp: 'app', roles: ['plants:write'], azp: 'shop' }, 'create change'],
  [AUTH0, { scope: 'openid plants:write', permissions: ['plants:read'], gty: 'password' }, 'read'],
  [KEYCLOAK, { scope: 'email', realm_access: { roles: ['offline_access', 'plants:write'] } }, 'create change'],
  [KEYCLOAK, { resource_access: { account: { roles: ['plants:write'] }, plants: { roles: ['plants:read'] } } }, 'read'],
  [KEYCLOAK, { realm_access: 'plants:read', resource_access: { plants: null } }, ''],
  [KUBERNETES, { 'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'plants:read' } } }, 'read'],
  [BOTH, { scp: ['no plants:write', 'plants:read'] }, 'read'],
  [READ, {}, 'create'],
  [WRITE, { scope: 'plants:read' }, 'read'],
])(
  'where %j are needed, a token with %j permits: %s, also when it is remembered',
  async (needed, claims, permitted) => {
    const verify = verifier(needed);
    const token = await tokenOf(key, claims);
    for (let time = 0; time < 2; time++)
      expect([...((await verify(token))?.permissions ?? [])].join(' ')).toBe(permitted);
  },
);

test('a token says who has sent it, also when it is remembered', async () => {
  const verify = verifier();
  for (const [claims, sender] of [
    [
      { sub: 'x'.repeat(300), client_id: 'shop' },
      { who: 'x'.repeat(255), clientId: 'shop' },
    ],
    [{ sub: 7, client_id: ['shop'] }, {}],
  ]) {
    const token = await tokenOf(key, claims);
    for (const _ of [1, 2])
      expect(await verify(token)).toEqual({ permissions: new Set(['read', 'create']), ...sender });
  }
});

test('remembers a token until it expires', async () => {
  const verify = verifier();
  const token = await tokenOf(key);
  expect(await outcome(verify, token)).toBe('accepted');
  pass(5 * MINUTE + 29 * SECOND);
  expect(await outcome(verify, token)).toBe('accepted');
  pass(2 * SECOND);
  expect(await outcome(verify, token)).toBe('refused');
});

describe('when the provider changes its keys', () => {
  test.each([
    ['5 minutes later', 5 * MINUTE],
    ['when the clock was put back', -HOUR],
  ])('accepts a new one as soon as a token names it, and refuses a withdrawn one %s', async (_name, milliseconds) => {
    const verify = verifier();
    const remembered = await tokenOf(key, { exp: now() + 10 * HOUR });
    expect(await outcome(verify, remembered)).toBe('accepted');
    provider.publish(key, otherKey);
    pass(5 * SECOND);
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('accepted');
    expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
    provider.publish(otherKey);
    pass(milliseconds);
    await eventually(async () => (await outcome(verify, remembered)) === 'refused', 10_000);
    expect(await outcome(verify, await tokenOf(key))).toBe('refused');
  });

  test('does not ask the provider for every key that unauthenticated clients think of', async () => {
    const verify = await verifierWithKeys();
    for (let count = 0; count < 10; count++) expect(await outcome(verify, await tokenOf(otherKey))).toBe('refused');
    expect(provider.asked()).toBe(1);
    pass(5 * SECOND);
    const outcomes = Array.from({ length: 10 }, async () => outcome(verify, await tokenOf(otherKey)));
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['refused']));
    expect(provider.asked()).toBe(2);
  });
});

test.each<[string, () => unknown]>([
  ['is down', () => provider.goDown()],
  ['does not end its answer', () => provider.answer((_request, response) => response.write('{"keys":['))],
])('goes on with known keys while the provider %s, and cannot judge others', async (_, trouble) => {
  const verify = await verifierWithKeys({ timeout: 3_000 });
  await trouble();
  for (const time of [5 * MINUTE, 30 * 24 * HOUR]) {
    pass(time);
    expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('unavailable');
    expect(await outcome(verify, await tokenOf(key, { jti: 'newer' }))).toBe('accepted');
  }
});

test('takes no more of a key set without an end than a mebibyte', async () => {
  const verify = await verifierWithKeys({ timeout: 10_000 });
  let sent = 0;
  provider.answer(async (_request, response) => {
    response.write('{"keys":[');
    for (; !response.destroyed; sent++) {
      response.write(' '.repeat(MEBIBYTE));
      await new Promise(setImmediate);
    }
  });
  pass(5 * SECOND);
  expect(await outcome(verify, await tokenOf(otherKey))).toBe('unavailable');
  expect(sent).toBeLessThan(100);
  expect(logged.join('')).toContain('exceeded max size');
});

test.each([
  ['fd12:3456::1', 'unavailable', 'accepted'],
  ['::ffff:192.168.1.2', 'unavailable', 'accepted'],
  ['::1', 'accepted', 'accepted'],
  ['2001:db8::1', 'unavailable', 'unavailable'],
])('asks a provider at %s over plain HTTP: %s, and %s with JWT_ALLOW_HTTP', async (address, own, allowed) => {
  const resolve = (message: unknown) =>
    Object.defineProperty((message as { socket: object }).socket, 'remoteAddress', { value: address });
  subscribe('net.client.socket', resolve);
  atEnd(() => unsubscribe('net.client.socket', resolve));
  expect(await outcome(verifier(), await tokenOf(key))).toBe(own);
  expect(await outcome(verifier({ allowHttp: true }), await tokenOf(key))).toBe(allowed);
  expect(provider.asked()).toBe([own, allowed].filter((one) => one === 'accepted').length);
});

test('starts while the provider is down, and recovers by itself', async () => {
  await provider.goDown();
  const verify = verifier();
  expect(await outcome(verify, await tokenOf(key))).toBe('unavailable');
  expect(await outcome(verify, 'token-for-the-tests')).toBe('refused');
  expect(logged.join('')).toContain('the keys of JWT_JWKS_URL could not be fetched');
  await provider.comeBack();
  pass(5 * SECOND);
  expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
});
