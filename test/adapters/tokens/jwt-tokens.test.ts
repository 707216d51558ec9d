import { createHmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { jwtTokens } from '../../../src/adapters/tokens/jwt-tokens.ts';
import type { TokenVerifier } from '../../../src/application/permissions.ts';
import { forEachTest } from '../../support/lifetimes.ts';
import {
  AUDIENCE,
  type IdentityProvider,
  ISSUER,
  type SigningKey,
  signingKey,
  startIdentityProvider,
  tokenOf,
} from '../../support/servers/identity-provider.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

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

function verifier(
  options: Parameters<typeof jwtTokens>[2] = {},
  scopes: { readonly readScope?: string; readonly writeScope?: string } = {},
): TokenVerifier {
  const log = pino({}, { write: (line: string) => logged.push(line) });
  const known = { jwksUrl: provider.url, issuer: ISSUER, audience: AUDIENCE };
  return jwtTokens({ ...known, readScope: undefined, writeScope: undefined, ...scopes }, log, options);
}

/** What a request with this token is answered. */
async function outcome(verify: TokenVerifier, token: string): Promise<'accepted' | 'refused' | 'unavailable'> {
  try {
    return (await verify(token)) ? 'accepted' : 'refused';
  } catch (error) {
    expect(error).toMatchObject({
      code: 'token_unverifiable',
      message: 'the key of the access token cannot be fetched; sending the same request again is safe',
    });
    return 'unavailable';
  }
}

/** One that has fetched the keys. */
async function verifierWithKeys(options: Parameters<typeof jwtTokens>[2] = {}): Promise<TokenVerifier> {
  const verify = verifier(options);
  expect(await outcome(verify, await tokenOf(key, { jti: 'the first one' }))).toBe('accepted');
  return verify;
}

test('accepts a token that names no key, if there is only one', async () => {
  const { kid: _, ...jwk } = key.jwk;
  expect(await outcome(verifier(), await tokenOf({ ...key, jwk }))).toBe('accepted');
});

const now = () => Math.floor(Date.now() / SECOND);

test.each<[string, 'accepted' | 'refused', () => Record<string, unknown>]>([
  ['of another issuer', 'refused', () => ({ iss: `${ISSUER}/` })],
  ['of no issuer', 'refused', () => ({ iss: undefined })],
  ['for another audience', 'refused', () => ({ aud: 'trees' })],
  ['for no audience', 'refused', () => ({ aud: undefined })],
  ['for several audiences', 'accepted', () => ({ aud: ['trees', AUDIENCE] })],
  ['that has expired', 'refused', () => ({ exp: now() - 31 })],
  ['that has just expired, by a clock a little off', 'accepted', () => ({ exp: now() - 25 })],
  ['that never expires', 'refused', () => ({ exp: undefined })],
  ['whose expiry is no number', 'refused', () => ({ exp: '9999999999' })],
  ['that is not valid yet', 'refused', () => ({ nbf: now() + 60 })],
  ['that will be valid in a moment, by a clock a little off', 'accepted', () => ({ nbf: now() + 25 })],
])('a token %s is %s', async (_name, expected, claims) => {
  expect(await outcome(verifier(), await tokenOf(key, claims()))).toBe(expected);
});

test('says in the log why a token is refused, once a minute for each reason, and nothing that the token says', async () => {
  const verify = verifier();
  const refuse = async (claims: Record<string, unknown>) =>
    expect(await outcome(verify, await tokenOf(key, claims))).toBe('refused');
  for (const aud of ['trees', 'secret-trees']) await refuse({ aud });
  await refuse({ iss: 'another' });
  await refuse({ exp: now() - 60 });
  expect(await outcome(verify, '..')).toBe('refused');
  const invalid = 'ERR_JWT_CLAIM_VALIDATION_FAILED';
  expect(logged.map((line) => JSON.parse(line))).toMatchObject(
    [`${invalid} aud`, `${invalid} iss`, 'ERR_JWT_EXPIRED exp', 'ERR_JWS_INVALID'].map((reason) => ({
      msg: 'a signed token is not accepted',
      reason,
    })),
  );
  expect(logged.join('')).not.toContain('trees');
});

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test.each<[string, (good: string) => string | Promise<string>]>([
  ['without a signature', (good) => `${encoded({ alg: 'none' })}.${good.split('.')[1]}.`],
  ['without one, that names a key', (good) => `${encoded({ alg: 'none', kid: 'first' })}.${good.split('.')[1]}.`],
  [
    'with the public key as the secret of an HMAC',
    (good) => {
      const content = `${encoded({ alg: 'HS256', kid: 'first' })}.${good.split('.')[1]}`;
      return `${content}.${createHmac('sha256', JSON.stringify(key.jwk)).update(content).digest('base64url')}`;
    },
  ],
  ['of another key under its name', () => tokenOf({ ...otherKey, jwk: key.jwk })],
  ['by another algorithm than the key is for', async () => tokenOf({ ...(await signingKey('first', 'EdDSA')) })],
  [
    'with other claims',
    (good) => good.replace(/\.(.*)\./, `.${encoded({ iss: ISSUER, aud: AUDIENCE, exp: now() + 9 })}.`),
  ],
  ['that brings its own key', async () => tokenOf({ ...otherKey, jwk: { kid: 'first', jwk: otherKey.jwk } as never })],
  ['without its last part', (good) => good.replace(/\.[^.]*$/, '')],
  ['of two dots', () => '..'],
  ['that is a static one', () => 'token-for-the-tests'],
])('refuses a token %s', async (_name, forge) => {
  const verify = verifier();
  const good = await tokenOf(key);
  expect(await outcome(verify, good)).toBe('accepted');
  expect(await outcome(verify, await forge(good))).toBe('refused');
});

test.each(['RS256', 'ES256', 'EdDSA'])('accepts a signature by %s, and no other spelling of it', async (alg) => {
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

describe('what a token permits', () => {
  const scopes = { readScope: 'plants:read', writeScope: 'plants:write' };
  const permitted = async (verify: TokenVerifier, claims: Record<string, unknown>) => {
    const permissions = await verify(await tokenOf(key, claims));
    return permissions && [...permissions].join(' ');
  };

  test.each<[Record<string, unknown>, string]>([
    [{ scope: 'plants:read plants:write' }, 'read create change'],
    [{ scope: 'openid plants:read' }, 'read'],
    [{ scope: 'plants:write' }, 'create change'],
    [{ scp: 'plants:read plants:write' }, 'read create change'],
    [{ scp: ['plants:read', 'plants:write'] }, 'read create change'],
    [{ scp: ['plants:read'] }, 'read'],
    [{ scope: 'plants:read', scp: ['plants:write'] }, 'read create change'],
    [{}, ''],
    [{ scope: '' }, ''],
    [{ scope: 'plants:reader Plants:read plants' }, ''],
    [{ scp: [['plants:read'], 1, null, { scope: 'plants:read' }] }, ''],
    [{ scope: 1, scp: { 'plants:read': true } }, ''],
    [{ scope: null }, ''],
  ])('with the claims %j is: %s', async (claims, permissions) => {
    expect(await permitted(verifier({}, scopes), claims)).toBe(permissions);
  });

  test.each<[{ readScope?: string; writeScope?: string }, string, string]>([
    [{}, 'read create', 'read create'],
    [{ readScope: 'plants:read' }, 'create', 'read create'],
    [{ writeScope: 'plants:write' }, 'read', 'read'],
  ])('with the needed scopes %j is: %s, and with the scope plants:read: %s', async (needed, without, having) => {
    const verify = verifier({}, needed);
    expect(await permitted(verify, {})).toBe(without);
    expect(await permitted(verify, { scope: 'plants:read' })).toBe(having);
  });

  test('is the same when the token is remembered', async () => {
    const verify = verifier({}, scopes);
    const reads = await tokenOf(key, { scope: 'plants:read' });
    const writes = await tokenOf(key, { scope: 'plants:write' });
    for (let time = 0; time < 3; time++) {
      expect([await verify(reads), await verify(writes)]).toEqual([new Set(['read']), new Set(['create', 'change'])]);
    }
  });
});

describe('remembers a token', () => {
  const checks = () => jest.spyOn(globalThis.crypto.subtle, 'verify');
  afterEach(() => void jest.restoreAllMocks());

  test('and checks its signature once', async () => {
    const verify = await verifierWithKeys();
    const token = await tokenOf(key);
    const spy = checks();
    for (let time = 0; time < 5; time++) expect(await outcome(verify, token)).toBe('accepted');
    expect(spy).toHaveBeenCalledTimes(1);
  });

  test('until it expires', async () => {
    const verify = verifier();
    const token = await tokenOf(key);
    expect(await outcome(verify, token)).toBe('accepted');
    pass(5 * MINUTE + 29 * SECOND);
    expect(await outcome(verify, token)).toBe('accepted');
    pass(2 * SECOND);
    expect(await outcome(verify, token)).toBe('refused');
  });

  test('but only the newest ones', async () => {
    const verify = verifier({ memory: 2 });
    const tokens = await Promise.all(['a', 'b', 'c'].map((jti) => tokenOf(key, { jti })));
    for (const token of tokens) expect(await outcome(verify, token)).toBe('accepted');
    const spy = checks();
    for (const token of tokens.slice(1)) expect(await outcome(verify, token)).toBe('accepted');
    expect(spy).not.toHaveBeenCalled();
    expect(await outcome(verify, tokens[0] ?? '')).toBe('accepted');
    expect(spy).toHaveBeenCalledTimes(1);
  });

  test('that is refused never', async () => {
    const verify = verifier();
    const token = await tokenOf(key, { aud: 'trees' });
    for (let time = 0; time < 2; time++) expect(await outcome(verify, token)).toBe('refused');
  });
});

describe('when the provider changes its keys', () => {
  test('accepts a new one as soon as a token names it, beside the old one', async () => {
    const verify = await verifierWithKeys();
    provider.publish(key, otherKey);
    pass(5 * SECOND);
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('accepted');
    expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
  });

  test('refuses what a withdrawn one has signed within minutes, remembered or not', async () => {
    const verify = verifier();
    const token = await tokenOf(key, { exp: now() + 10 * HOUR });
    expect(await outcome(verify, token)).toBe('accepted');
    provider.publish(otherKey);
    pass(5 * MINUTE);
    while ((await outcome(verify, token)) === 'accepted') await setImmediate();
    expect(await outcome(verify, token)).toBe('refused');
  });

  test('remembers no token whose check by a withdrawn one ends after the withdrawal is known', async () => {
    const verify = await verifierWithKeys();
    const token = await tokenOf(key, { jti: 'late' });
    const [checking, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { subtle } = globalThis.crypto;
    const check = subtle.verify.bind(subtle);
    const spy = jest.spyOn(subtle, 'verify').mockImplementationOnce(async (...all) => {
      checking.resolve();
      await mayEnd.promise;
      return check(...all);
    });
    const late = outcome(verify, token);
    await checking.promise;
    provider.publish(otherKey);
    pass(5 * SECOND);
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('accepted');
    mayEnd.resolve();
    expect(await late).toBe('accepted');
    spy.mockRestore();
    expect(await outcome(verify, token)).toBe('refused');
  });

  test('notices that though the clock was put back', async () => {
    const verify = verifier();
    const token = await tokenOf(key, { exp: now() + 10 * HOUR });
    expect(await outcome(verify, token)).toBe('accepted');
    provider.publish(otherKey);
    pass(-HOUR);
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('accepted');
    expect(await outcome(verify, token)).toBe('refused');
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

describe('while the provider is down', () => {
  test('goes on with the keys it knows, for as long as it takes, and cannot know about others', async () => {
    const verify = await verifierWithKeys();
    await provider.goDown();
    for (const time of [MINUTE, HOUR, 24 * HOUR, 30 * 24 * HOUR]) {
      pass(time);
      expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
      expect(await outcome(verify, await tokenOf(otherKey))).toBe('unavailable');
      expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
    }
  });

  test('starts, refuses what no key could make good, and recovers by itself', async () => {
    await provider.goDown();
    const verify = verifier();
    expect(await outcome(verify, await tokenOf(key))).toBe('unavailable');
    expect(await outcome(verify, 'token-for-the-tests')).toBe('refused');
    expect(logged.join('')).toContain('the keys of JWT_JWKS_URL could not be fetched');
    await provider.comeBack();
    pass(5 * SECOND);
    expect(await outcome(verify, await tokenOf(key))).toBe('accepted');
  });

  test.each<[string, Parameters<IdentityProvider['answer']>[0]]>([
    ['answers 500', (_request, response) => response.writeHead(500).end('{"keys":[]}')],
    ['answers a page', (_request, response) => response.end('<html>maintenance</html>')],
    ['answers other JSON', (_request, response) => response.end('{"keys":{}}')],
    ['sends elsewhere', (_request, response) => response.writeHead(302, { Location: 'http://127.0.0.1:1/' }).end()],
    ['resets the connection', (request) => request.socket.resetAndDestroy()],
    ['does not answer', () => {}],
    ['does not end its answer', (_request, response) => response.write('{"keys":[')],
  ])('or %s, does the same', async (_name, answer) => {
    const verify = await verifierWithKeys({ timeout: 1_000 });
    provider.answer(answer);
    pass(5 * MINUTE);
    expect(await outcome(verify, await tokenOf(key, { jti: 'new' }))).toBe('accepted');
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('unavailable');
    expect(provider.asked()).toBe(2);
    expect(await outcome(verify, await tokenOf(key, { jti: 'newer' }))).toBe('accepted');
    provider.publish(key, otherKey);
    pass(5 * SECOND);
    expect(await outcome(verify, await tokenOf(otherKey))).toBe('accepted');
  });
});
