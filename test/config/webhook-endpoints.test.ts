import { expect, test } from '@jest/globals';
import { readConfig } from '../../src/config/config.ts';
import { configFiles, mistakes } from '../support/config-files.ts';

const secret = (letter: string, octets = 32) => `whsec_${Buffer.alloc(octets, letter).toString('base64')}`;
const [A, B, C] = [secret('a'), secret('b'), secret('c')];

const { file } = configFiles();

const endpoints = (environment: Record<string, string>) =>
  readConfig(environment).webhooks.map(({ url, secrets }) => [url, ...secrets]);

test('one secret is for all URLs of the variable, and each line of the file has its own', () => {
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
  for (const secrets of three) {
    expect(mistakes({ WEBHOOK_URLS, ...secrets })).toEqual([
      'WEBHOOK_SECRET and WEBHOOK_SECRET_FILE must have two secrets together at most, not 3',
    ]);
  }
  const WEBHOOKS_FILE = file('three-of-one', `\n${WEBHOOK_URLS} ${A},${B},${C}`);
  expect(mistakes({ WEBHOOKS_FILE })).toEqual([
    expect.stringMatching(/ two separated by a comma;.*\(line 2 is wrong\)$/),
  ]);
});

test('there are 100 endpoints at most', () => {
  const urls = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => `https://hooks.example/${from + n}`);
  const WEBHOOKS_FILE = file(
    'many',
    urls(0, 50)
      .map((url) => `${url} ${B}\n`)
      .join(''),
  );
  const environment = { WEBHOOKS_FILE, WEBHOOK_SECRET: A };
  expect(endpoints({ ...environment, WEBHOOK_URLS: urls(50, 100).join() })).toHaveLength(100);
  expect(mistakes({ ...environment, WEBHOOK_URLS: urls(50, 101).join() })).toEqual([
    'WEBHOOK_URLS and WEBHOOKS_FILE must have 100 URLs together at most, not 101',
  ]);
});

test('an endpoint is called by its host and a digest, not by its URL', () => {
  const [endpoint] = readConfig({ WEBHOOK_URLS: 'https://Hooks.example:8443/secret-path', WEBHOOK_SECRET: A }).webhooks;
  expect(endpoint?.name).toMatch(/^hooks\.example:8443 [\da-f]{16}$/);
});

const URL_RULE = 'an https:// or http:// URL without a user, a password and a fragment';

test.each([
  'https://user@hooks.example/',
  'https://user:password@hooks.example/',
  'https://hooks.example/#part',
  'ftp://hooks.example/',
  'hooks.example',
  'https://one.example https://two.example',
  ',',
])('refuses %s as a URL, in the variable and in the file, and does not repeat it', (url) => {
  expect(mistakes({ WEBHOOK_URLS: url, WEBHOOK_SECRET: A })).toEqual([
    `WEBHOOK_URLS must be one URL or more, separated by commas or line ends, each ${URL_RULE}`,
  ]);
  const line = expect.stringMatching(
    /^WEBHOOKS_FILE must be the path of a file that contains lines of .* \(line 2 is wrong\)$/,
  );
  expect(mistakes({ WEBHOOKS_FILE: file('wrong', `https://one.example ${A}\n${url} ${A}\n`) })).toEqual([line]);
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
  expect(mistakes({ WEBHOOK_ALLOW_HTTP: 'yes' })).toEqual(['WEBHOOK_ALLOW_HTTP must be one of true, false, not "yes"']);
});

test.each([
  ['without its prefix', A.slice(6)],
  ['that is too short', secret('a', 23)],
  ['that is too long', secret('a', 65)],
  ['that is no base64', `whsec_${'*'.repeat(44)}`],
  ['whose padding is missing', A.replace('=', '')],
])('refuses a secret %s, and does not repeat it', (_, wrong) => {
  const all = [
    mistakes({ WEBHOOK_URLS: 'https://one.example', WEBHOOK_SECRET: wrong }),
    mistakes({ WEBHOOK_URLS: 'https://one.example', WEBHOOK_SECRET_FILE: file('wrong-secret', wrong) }),
    mistakes({ WEBHOOKS_FILE: file('wrong-secret', `https://one.example ${wrong}`) }),
  ];
  for (const lines of all) {
    expect(lines).toEqual([expect.stringContaining('whsec_ and the base64 of 24 to 64 octets')]);
    expect(lines.join()).not.toContain(wrong.slice(6));
  }
});

test('takes the shortest and the longest secret', () => {
  const [shortest, longest] = [secret('s', 24), secret('l', 64)];
  const WEBHOOKS_FILE = file('secrets', `https://one.example ${shortest},${longest}\n`);
  expect(endpoints({ WEBHOOKS_FILE })).toEqual([['https://one.example', shortest, longest]]);
});

test('URLs need a secret, and a secret needs URLs', () => {
  expect(mistakes({ WEBHOOK_URLS: 'https://one.example' })).toEqual([
    'WEBHOOK_SECRET or WEBHOOK_SECRET_FILE must be set too, since WEBHOOK_URLS is: ' +
      'echo "whsec_$(openssl rand -base64 32)" makes a secret',
  ]);
  expect(mistakes({ WEBHOOK_SECRET: A })).toEqual([
    'WEBHOOK_URLS must be set too, since WEBHOOK_SECRET is: URLs in WEBHOOKS_FILE have their own secrets',
  ]);
});

test('the same URL twice is a mistake, however it is written', () => {
  const WEBHOOKS_FILE = file('twice', `HTTPS://One.example:443/x ${B}\n`);
  expect(mistakes({ WEBHOOK_URLS: 'https://one.example/x', WEBHOOK_SECRET: A, WEBHOOKS_FILE })).toEqual([
    expect.stringMatching(
      /^WEBHOOK_URLS and WEBHOOKS_FILE must have each URL once, not that of one\.example [\da-f]{16} twice$/,
    ),
  ]);
});
