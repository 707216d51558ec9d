import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { webhookSender } from '../../../src/adapters/webhooks/webhook-sender.ts';
import type { Message, SendError } from '../../../src/application/webhooks/ports.ts';
import { drip } from '../../../tooling/webhook-troubles.ts';
import { atEnd } from '../../support/lifetimes.ts';
import { trustedCertificate } from '../../support/servers/certificate.ts';
import { startForwardProxy } from '../../support/servers/forward-proxy.ts';
import { closed, listening } from '../../support/servers/local-server.ts';

const secret = (letter: string) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;

const message: Message = {
  epoch: 'ab'.repeat(16),
  changed: 754n,
  id: -7n,
  plant: { id: -7n, name: 'Pinus é\u{1F339}' },
};
const RECORD = '{"id":-7,"name":"Pinus é\u{1F339}"}';

/** Milliseconds, in place of 15 s, for what never responds. All else has longer than a busy machine takes. */
const TIMEOUT = 400;
const LONG = 60_000;

async function receiver(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(createServer(listener))}`;
}

/** One that does not speak HTTP as it should. */
async function tcpReceiver(handle: (socket: Socket) => void): Promise<string> {
  const server = createTcpServer((socket) => handle(socket.on('error', () => {})));
  return `http://127.0.0.1:${await listening(server)}`;
}

function sender(url: string, { secrets = [secret('a')], timeout = LONG, proxy = {} } = {}) {
  const { send, beginWave, close } = webhookSender([{ name: 'endpoint', url, secrets }], {
    timeout,
    proxy,
    userAgent: 'plants/1',
  });
  atEnd(close);
  return { send: (one = message) => send('endpoint', one), beginWave: () => beginWave('endpoint'), close };
}

describe('a message', () => {
  async function received(...secrets: readonly string[]) {
    const requests: { request: IncomingMessage; body: string }[] = [];
    const url = await receiver(async (request, response) => {
      requests.push({ request, body: await text(request) });
      response.writeHead(204).end();
    });
    const { send } = sender(`${url}/hooks/plants?key=1`, { secrets: [...secrets] });
    return { requests, send };
  }

  test('is the record of GET /plants/{id}, which verifies as specified', async () => {
    const { requests, send } = await received(secret('a'), secret('b'));
    expect(await send()).toBeUndefined();
    const [{ request, body } = { body: '' }] = requests;
    expect(request).toMatchObject({ method: 'POST', url: '/hooks/plants?key=1' });
    const headers = request?.headers as Record<string, string>;
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'plants/1' });
    expect(headers['content-length']).toBe(`${Buffer.byteLength(RECORD)}`);
    expect(body).toBe(RECORD);
    for (const letter of ['a', 'b'])
      expect(new Webhook(secret(letter)).verify(body, headers)).toMatchObject({ id: -7 });
    expect(() => new Webhook(secret('c')).verify(body, headers)).toThrow();
    expect(() => new Webhook(secret('a')).verify(`${body} `, headers)).toThrow();
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000)).toBeLessThan(10);
  });

  test('has the same id when it is sent again, and a greater one for a later state', async () => {
    const { requests, send } = await received(secret('a'));
    const other = { ...message, plant: { id: -7n, name: '' } };
    for (const one of [message, message, { ...message, changed: 10_000n }, other]) await send(one);
    const [first = '', again, later = '', changed] = requests.map(({ request }) => `${request.headers['webhook-id']}`);
    expect(first).toMatch(/^msg_(ab){16}_0000000000000000754_-7_[\da-f]{16}$/);
    expect(again).toBe(first);
    expect(later.localeCompare(first)).toBe(1);
    expect(changed).not.toBe(first);
  });
});

test.each([
  [true, 32],
  [false, 5],
])('sends a few messages at once, and then, if their connections are kept (%s), %i', async (isKept, most) => {
  const url = await receiver((_request, response) =>
    response.setHeader('Connection', isKept ? 'keep-alive' : 'close').end(),
  );
  const { send, beginWave } = sender(url);
  const waves = [beginWave()];
  for (let n = 0; n < 4; n++) {
    await Promise.all(Array.from({ length: 5 }, () => send()));
    waves.push(beginWave());
  }
  expect([waves[0], waves.at(-1)]).toEqual([5, most]);
});

test('an endpoint that does not respond delays no other one of its host', async () => {
  const hanging: string[] = [];
  const url = await receiver((request, response) => {
    if (request.url === '/hangs') hanging.push(request.url);
    else response.end();
  });
  const secrets = [secret('a')];
  const endpoints = ['/hangs', '/responds'].map((name) => ({ name, url: `${url}${name}`, secrets }));
  const { send, close } = webhookSender(endpoints, { timeout: 60_000, userAgent: 'plants/1' });
  atEnd(close);
  for (let n = 0; n < 40; n++) void send('/hangs', message);
  for (let n = 0; n < 20; n++) expect(await send('/responds', message)).toBeUndefined();
  expect(hanging).toHaveLength(32);
});

/** As a date, which is one only once the response is sent. */
const IN_A_MINUTE = 'in a minute';

test.each<[number, string, Partial<SendError> | undefined]>([
  [299, '', undefined],
  [301, '', { reason: 'it responded with 301, and redirects are not followed' }],
  [308, '', { reason: 'it responded with 308, and redirects are not followed' }],
  [400, '120', { reason: 'it responded with 400', retryAfter: 120_000 }],
  [410, '', { reason: 'it responded with 410', isGone: true }],
  [429, IN_A_MINUTE, { reason: 'it responded with 429', retryAfter: expect.closeTo(60_000, -4) as never }],
  [503, 'soon', { reason: 'it responded with 503' }],
])(
  'a response of %d with the Retry-After %j acknowledges the message or says how it failed',
  async (status, retryAfter, failure) => {
    let requests = 0;
    const url = await receiver((_, response) => {
      requests++;
      const inAMinute = new Date(Date.now() + 60_000).toUTCString();
      const header = retryAfter === IN_A_MINUTE ? inAMinute : retryAfter;
      response.writeHead(status, { Location: '/elsewhere', 'Retry-After': header }).end('no');
    });
    expect(await sender(url).send()).toEqual(failure && { isGone: false, retryAfter: 0, ...failure });
    expect(requests).toBe(1);
  },
);

/* Without a limit of its time, each of these would last until the receiver ends. */

/** Sends the first line of a response and this, and then a text over and over. */
const dripAfter = (start: string, text: string, milliseconds: number) => (socket: Socket) => {
  socket.write(`HTTP/1.1 200 OK\r\n${start}`);
  drip(socket, text, milliseconds);
};

const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
const HEADERS = 'X-Header: x\r\n'.repeat(100);
const BODY_FOLLOWS = 'Content-Length: 1000000000\r\n\r\n';

const NO_RESPONSE = { reason: `no response within ${TIMEOUT / 1_000} s` };

test.each<[string, (socket: Socket) => void, object | undefined]>([
  ['does not respond', () => {}, NO_RESPONSE],
  ['sends one header octet by octet', dripAfter('X: ', 'x', 20), NO_RESPONSE],
  ['sends headers without end', dripAfter('', HEADERS, 1), { reason: expect.stringMatching(/header/i) }],
  ['sends informational responses without end', (socket) => drip(socket, EARLY_HINTS, 5), NO_RESPONSE],
  ['resets the connection', (socket) => socket.resetAndDestroy(), { reason: expect.any(String) }],
  ['does not speak HTTP', (socket) => socket.end('220 mail.example ESMTP\r\n'), { reason: expect.any(String) }],
  // After a 200, which acknowledges it.
  ['sends its body octet by octet', dripAfter(BODY_FOLLOWS, 'x', 20), undefined],
  [
    'closes in the middle of its body',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\n${BODY_FOLLOWS}`, () => setTimeout(() => socket.destroy(), 20)),
    undefined,
  ],
])('a message has its outcome in time if the receiver %s', async (_, handle, outcome) => {
  const url = await tcpReceiver((socket) => socket.once('data', () => handle(socket)));
  const timeout = outcome === NO_RESPONSE ? TIMEOUT : LONG;
  expect(await sender(url, { timeout }).send()).toEqual(outcome);
});

describe('a receiver that floods the service', () => {
  /** Sends the start and then the text as fast as it is taken. @returns how many octets were, until it was cut off */
  async function flooded(socket: Socket, start: string, text: string): Promise<number> {
    const block = Buffer.from(text.repeat(Math.ceil(2 ** 16 / text.length)));
    const closed = new Promise((resolve) => socket.on('close', resolve));
    socket.write(`HTTP/1.1 ${start}`);
    const write = () => {
      while (!socket.destroyed && socket.write(block));
    };
    socket.on('drain', write);
    write();
    await closed;
    return socket.bytesWritten;
  }

  /** What lies in the buffers of sockets, twice, beside what is read. */
  const MOST_TAKEN = 32 * 1024 ** 2;
  const CHUNKED = '200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  const TOO_LONG = { reason: 'the response is too long' };

  test.each<[string, string, string, SendError | undefined]>([
    ['informational responses', '103 Early Hints\r\n\r\n', EARLY_HINTS, TOO_LONG],
    ['an extension of a chunk', `${CHUNKED}1;x=`, 'x', undefined],
    ['trailers', `${CHUNKED}0\r\n`, 'X: x\r\n', undefined],
    ['a body', `200 OK\r\n\r\n`, 'x', undefined],
  ])('with %s is cut off', async (_, start, text, outcome) => {
    const taken = Promise.withResolvers<number>();
    const url = await tcpReceiver((socket) => socket.once('data', () => taken.resolve(flooded(socket, start, text))));
    expect(await sender(url, { timeout: 60_000 }).send()).toEqual(outcome);
    expect(await taken.promise).toBeLessThan(MOST_TAKEN);
  });

  test.each(['', 'localhost'])(
    'behind TLS is cut off, too, and behind a proxy unless NO_PROXY is %j',
    async (noProxy) => {
      const proxy = await startForwardProxy();
      const taken = Promise.withResolvers<number>();
      const server = createTlsServer(trustedCertificate(), (socket) => {
        socket.on('error', () => {}).once('data', () => taken.resolve(flooded(socket, `${CHUNKED}1;x=`, 'x')));
      });
      const url = `https://localhost:${await listening(server)}`;
      const proxied = { httpsProxy: proxy.url, noProxy };
      expect(await sender(url, { timeout: 60_000, proxy: proxied }).send()).toBeUndefined();
      expect(await taken.promise).toBeLessThan(MOST_TAKEN);
      expect(proxy.asked).toHaveLength(noProxy === '' ? 1 : 0);
    },
  );
});

test('a proxy sees the host and the port of a receiver, and nothing else', async () => {
  const proxy = await startForwardProxy();
  const server = createHttpsServer(trustedCertificate(), (_, response) => response.end());
  const host = `localhost:${await listening(server)}`;
  const through = { proxy: { httpsProxy: proxy.url } };
  const { send } = sender(`https://${host}/secret-path`, through);
  for (let n = 0; n < 3; n++) expect(await send()).toBeUndefined();
  // Plain HTTP is not sent through it.
  const url = await receiver((_, response) => response.end());
  expect(await sender(url, through).send()).toBeUndefined();
  expect(new Set(proxy.asked)).toEqual(new Set([host]));
  expect(proxy.credentials).toEqual(new Set([`Basic ${Buffer.from('user:p@ss').toString('base64')}`]));
  expect(proxy.seen().length).toBeGreaterThan(1_000);
  expect(proxy.seen()).not.toMatch(/secret-path|webhook-|Pinus|proxy-/i);
});

test('fails if nobody listens, and recovers by itself', async () => {
  const server = createServer((_, response) => response.end());
  const port = await listening(server);
  const { send } = sender(`http://127.0.0.1:${port}`);
  expect(await send()).toBeUndefined();
  await closed(server);
  expect((await send())?.reason).toMatch(/ECONNREFUSED|closed|ECONNRESET/);
  await listening(server, port);
  expect(await send()).toBeUndefined();
});

test('breaks off at its end', async () => {
  const url = await tcpReceiver(() => {});
  const { send, close } = sender(url, { timeout: 60_000 });
  const sending = send();
  await close();
  expect(await sending).toEqual({ reason: expect.any(String) });
  expect(await send()).toEqual({ reason: expect.any(String) });
});
