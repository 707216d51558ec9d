import { expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { configFiles, mistakes } from '../support/config-files.ts';

const secret = (letter: string, octets = 32) => `whsec_${Buffer.alloc(octets, letter).toString('base64')}`;
const [A, B, C] = [secret('a'), secret('b'), secret('c')];

const { file } = configFiles();

const endpoints = (environment: Record<string, string>) =>
  readConfig(environment).webhooks.map(({ url, secrets }) => [url, ...secrets]);

test('all URLs of the variable have one secret, and each line of the file its own', () => {
  const [one, two, three] = ['https://one.example/hooks?key=1', 'http://localhost:8080/', 'https://[::1]:8443/'];
  const WEBHOOKS_FILE = file('webhooks', `\n${three} ${B}\r\nhttp://127.0.0.1/x\t${C},${A}\n`);
  expect(endpoints({ WEBHOOK_URLS: `${one}, ${two}\n`, WEBHOOK_SECRET: A, WEBHOOKS_FILE })).toEqual([
    [one, A],
    [two, A],
    [three, B],
    ['http://127.0.0.1/x', C, A],
  ]);
  expect(endpoints({ WEBHOOKS_FILE })).toHaveLength(2);
});

test('two secrets sign while one is being replaced, wherever they are', () => {
  const WEBHOOK_URLS = 'https://one.example';
  const WEBHOOK_SECRET_FILE = file('secret', `${B}\n`);
  expect(endpoints({ WEBHOOK_URLS, WEBHOOK_SECRET: `${A},${B}` })).toEqual([[WEBHOOK_URLS, A, B]]);
  expect(endpoints({ WEBHOOK_URLS, WEBHOOK_SECRET: A, WEBHOOK_SECRET_FILE })).toEqual([[WEBHOOK_URLS, A, B]]);
  expect(endpoints({ WEBHOOK_URLS, WEBHOOK_SECRET_FILE })).toEqual([[WEBHOOK_URLS, B]]);
  const three = [
    { WEBHOOK_SECRET: `${A},${C}`, WEBHOOK_SECRET_FILE },
    { WEBHOOK_SECRET: `${A},${B},${C}` },
    { WEBHOOK_SECRET_FILE: file('three', `${A}\n${B}\n${C}\n`) },
  ];
  const rule = expect.stringMatching(/^WEBHOOK_SECRET and WEBHOOK_SECRET_FILE must have two .*, not 3$/);
  for (const secrets of three) expect(mistakes({ WEBHOOK_URLS, ...secrets })).toEqual([rule]);
  const WEBHOOKS_FILE = file('three-of-one', `\n${WEBHOOK_URLS} ${A},${B},${C}`);
  expect(mistakes({ WEBHOOKS_FILE })).toEqual([expect.stringMatching(/ two separated by a comma.*line 2 is wrong/)]);
});

test('there are 100 endpoints at most', () => {
  const urls = Array.from({ length: 101 }, (_, n) => `https://hooks.example/${n}`);
  const lines = urls.slice(0, 50).map((url) => `${url} ${B}\n`);
  const environment = { WEBHOOKS_FILE: file('many', lines.join('')), WEBHOOK_SECRET: A };
  expect(endpoints({ ...environment, WEBHOOK_URLS: urls.slice(50, 100).join() })).toHaveLength(100);
  const refusal = expect.stringMatching(/^WEBHOOK_URLS and WEBHOOKS_FILE must have 100 URLs .*, not 101$/);
  expect(mistakes({ ...environment, WEBHOOK_URLS: urls.slice(50).join() })).toEqual([refusal]);
});

test('an endpoint is called by its host and a digest, not by its URL', () => {
  const [endpoint] = readConfig({ WEBHOOK_URLS: 'https://Hooks.example:8443/secret-path', WEBHOOK_SECRET: A }).webhooks;
  expect(endpoint?.name).toMatch(/^hooks\.example:8443 [\da-f]{16}$/);
});

test.each([
  'https://user:password@hooks.example/',
  'https://hooks.example/#part',
  'ftp://hooks.example/',
  'https://one.example https://two.example',
])('refuses %s as a URL, in the variable and in the file, and does not repeat it', (url) => {
  const WEBHOOKS_FILE = file('wrong', `https://one.example ${A}\n${url} ${A}\n`);
  const rule = 'an https:// or http:// URL without a user, a password and a fragment';
  for (const environment of [{ WEBHOOK_URLS: url, WEBHOOK_SECRET: A }, { WEBHOOKS_FILE }]) {
    expect(mistakes(environment)).toEqual([expect.stringContaining(rule)]);
    expect(mistakes(environment).join()).not.toContain(url);
  }
  expect(mistakes({ WEBHOOKS_FILE })).toEqual([expect.stringMatching(/^WEBHOOKS_FILE must .* \(line 2 is wrong\)$/)]);
});

test('WEBHOOK_ALLOW_HTTP permits http to other machines', () => {
  const given = { WEBHOOK_URLS: 'http://hooks.internal/secret-path', WEBHOOK_SECRET: A };
  const refusal = expect.stringMatching(
    /^WEBHOOK_URLS and WEBHOOKS_FILE must have https:\/\/ URLs, or .* unlike that of hooks\.internal [\da-f]{16}: /,
  );
  for (const environment of [given, { WEBHOOKS_FILE: file('plain', `${given.WEBHOOK_URLS} ${A}`) }]) {
    expect(mistakes(environment)).toEqual([refusal]);
    expect(mistakes(environment).join()).not.toContain('secret-path');
  }
  expect(endpoints({ ...given, WEBHOOK_ALLOW_HTTP: 'true' })).toEqual([[given.WEBHOOK_URLS, A]]);
  expect(mistakes({ ...given, WEBHOOK_ALLOW_HTTP: 'false' })).toHaveLength(1);
});

test.each([
  ['without its prefix', A.slice(6)],
  ['that is too short', secret('a', 23)],
  ['that is too long', secret('a', 65)],
  ['that is no base64', `whsec_${'*'.repeat(44)}`],
])('refuses a secret %s, and does not repeat it', (_, wrong) => {
  const WEBHOOK_URLS = 'https://one.example';
  const all = [
    mistakes({ WEBHOOK_URLS, WEBHOOK_SECRET: wrong }),
    mistakes({ WEBHOOK_URLS, WEBHOOK_SECRET_FILE: file('wrong-secret', wrong) }),
    mistakes({ WEBHOOKS_FILE: file('wrong-line', `${WEBHOOK_URLS} ${wrong}`) }),
  ];
  for (const lines of all) {
    expect(lines).toEqual([expect.stringContaining('whsec_ and the base64 of 24 to 64 bytes')]);
    expect(lines.join()).not.toContain(wrong.slice(6));
  }
  const WEBHOOKS_FILE = file('secrets', `${WEBHOOK_URLS} ${secret('s', 24)},${secret('l', 64)}\n`);
  expect(endpoints({ WEBHOOKS_FILE })).toEqual([[WEBHOOK_URLS, secret('s', 24), secret('l', 64)]]);
});

test('URLs need a secret, and a secret needs URLs', () => {
  const rule = expect.stringMatching(/^WEBHOOK_URLS must be set together with WEBHOOK_SECRET or WEBHOOK_SECRET_FILE: /);
  for (const set of [{ WEBHOOK_URLS: 'https://one.example' }, { WEBHOOK_SECRET: A }])
    expect(mistakes(set)).toEqual([rule]);
});

test('the same URL twice is a mistake, however it is written', () => {
  const WEBHOOKS_FILE = file('twice', `HTTPS://One.example:443/x ${B}\n`);
  const refusal = expect.stringMatching(/each URL once, not that of one\.example [\da-f]{16} twice$/);
  const environment = { WEBHOOK_URLS: 'https://one.example/x', WEBHOOK_SECRET: A, WEBHOOKS_FILE };
  expect(mistakes(environment)).toEqual([refusal]);
});
