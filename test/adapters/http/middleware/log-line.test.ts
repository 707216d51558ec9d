import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { readOnly } from '../../../../src/application/permissions.ts';
import { PlantStoreError } from '../../../../src/domain/errors.ts';
import { CLOSE, get, post, startApiServer, TOKEN } from '../../../support/api-server.ts';
import { eventually } from '../../../support/eventually.ts';
import { connectTo } from '../../../support/http-bytes.ts';
import { rawRequest, requestText } from '../../../support/raw-request.ts';

const PLANT = '{"id":1,"name":"the name of the plant","tag":"its tag"}';
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Options = Parameters<typeof startApiServer>[0];

/** Serves while `use` runs and gives every line that was logged by the time all connections were closed. */
async function logged(use: (url: string) => Promise<unknown>, options: Options = {}) {
  const { url, close, lines } = await startApiServer(options);
  await use(url);
  await close(0);
  // The last connection closes, and its line is logged, one turn of the event loop after the server.
  for (let turn = 0; turn < 2; turn++) await setImmediate();
  for (const line of lines) expect(line).toMatch(/^\{.*\}\n$/);
  return { text: lines.join(''), lines: lines.map((line) => JSON.parse(line)) };
}

type Send = (url: string) => Promise<Response>;

test.each<[request: string, operation: string | undefined, status: number, error: number | undefined, send: Send]>([
  ['POST /plants', 'createPlant', 200, undefined, (url) => post(url, PLANT)],
  ['GET /plants', 'listPlants', 401, 40100, (url) => fetch(`${url}/plants?secret=1`)],
  ['GET /plants', 'listPlants', 200, undefined, (url) => get(url, '/plants?tag=secret')],
  ['PATCH /plants', undefined, 405, 40500, (url) => fetch(`${url}/plants?secret=1`, { method: 'PATCH' })],
  ['GET /openapi.json', undefined, 200, undefined, (url) => fetch(`${url}/openapi.json?secret=1`)],
])(
  'logs %s (%s), answered %i, as one line under the id of the answer',
  async (request, operation, status, error, send) => {
    let requestId: string | null = '';
    const { text, lines } = await logged(async (url) => {
      requestId = (await send(url)).headers.get('X-Request-Id');
    });
    const [method, path] = request.split(' ');
    expect(lines).toEqual([
      expect.objectContaining({ requestId, method, path, status, durationMs: expect.any(Number) }),
    ]);
    const { operation: named, error: number, bytesIn, bytesOut } = lines[0];
    expect([named, number, bytesIn ?? 0]).toEqual([operation, error, method === 'POST' ? PLANT.length : 0]);
    expect(bytesOut).toBeGreaterThan(0);
    expect(requestId).toMatch(UUID);
    expect(text).not.toContain('secret');
  },
);

test.each<[string, string]>([
  ['what the parser refuses', 'GARBAGE\r\n\r\n'],
  ['headers that came too slowly', 'POST /plants HTTP/1.1\r\nHost: localhost\r\n'],
  ['a body that came too slowly', requestText('POST /plants', PLANT).slice(0, -PLANT.length)],
])('logs %s as one line with the id and the status of the answer', async (_name, bytes) => {
  const limits = { headersTimeout: 50, requestTimeout: 100, connectionsCheckingInterval: 10 };
  let answer = '';
  const use = async (url: string) => {
    answer = await rawRequest(url, bytes);
  };
  const { lines } = await logged(use, { limits });
  const [, status, requestId] = /^HTTP\/1\.1 (\d+) .*^X-Request-Id: (\S+)/ms.exec(answer) ?? [];
  const error = JSON.parse(answer.split('\r\n\r\n')[1] ?? '').error;
  expect(lines).toEqual([expect.objectContaining({ requestId, status: Number(status), error })]);
});

test.each([
  ['a defect', new Error('a defect'), [50]],
  ['an expected error', new PlantStoreError('store_unavailable', 'not now'), []],
])('logs %s after the client has left at the levels %j, with the id of the request', async (_name, error, levels) => {
  const begun = Promise.withResolvers<void>();
  const finding = Promise.withResolvers<never>();
  const find = () => {
    begun.resolve();
    return finding.promise;
  };
  const { url, lines } = await startApiServer({ plants: { find } });
  const leaving = connectTo(url);
  leaving.write(requestText('GET /plants/7', '', 'X-Request-Id: the-one-that-left\r\n'));
  await begun.promise;
  leaving.resetAndDestroy();
  await eventually(() => lines.length === 1);
  finding.reject(error);
  for (let turn = 0; turn < 2; turn++) await setImmediate();
  const [request, ...more] = lines.map((line) => JSON.parse(line));
  expect(request).toMatchObject({ requestId: 'the-one-that-left', aborted: true });
  expect(more).toEqual(
    levels.map((level) => expect.objectContaining({ level, requestId: 'the-one-that-left', err: expect.anything() })),
  );
});

// Clients keep tokens in a fragment. fetch would escape the characters that JSON has to.
test.each(['/plants#access_token=secret', '/plants/"\\{}%0a?secret'])(
  'logs the path of the request target %s as it was sent, and no more of it',
  async (target) => {
    const request = requestText(`GET ${target}`, '', 'Connection: close\r\n');
    const { text, lines } = await logged((url) => rawRequest(url, request));
    expect(lines).toEqual([expect.objectContaining({ path: target.split(/[?#]/)[0] })]);
    expect(text).not.toContain('secret');
  },
);

test.each([
  ['kept', 'Trace_1.2-3', /^Trace_1\.2-3$/],
  ...['with spaces', 'x'.repeat(200)].map((offered) => ['replaced by one of its own', offered, UUID] as const),
])('is %s: the X-Request-Id %j', async (_what, offered, expected) => {
  const { text, lines } = await logged(async (url) => {
    const answer = await post(url, PLANT, { 'X-Request-Id': offered });
    expect(answer.headers.get('X-Request-Id')).toMatch(expected);
  });
  expect(lines).toEqual([expect.objectContaining({ requestId: expect.stringMatching(expected) })]);
  if (expected === UUID) expect(text).not.toContain(offered);
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test.each<[string, object]>([
  [`cc-${TRACE}-${SPAN}-00-new`, { traceId: TRACE, spanId: SPAN }],
  [`00-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN }],
  [`00-${TRACE}-${SPAN}-01-new`, {}],
  [`00-${'0'.repeat(32)}-${SPAN}-01`, {}],
  [`ff-${TRACE}-${SPAN}-01`, {}],
])('logs the ids of a traceparent that the standard allows: %s, %j', async (traceparent, ids) => {
  const { lines } = await logged((url) => post(url, PLANT, { traceparent }));
  const [{ traceId, spanId }] = lines as [Record<string, string>];
  expect({ ...(traceId && { traceId }), ...(spanId && { spanId }) }).toEqual(ids);
});

test('names who has sent a request, also one that the token does not permit', async () => {
  const verifyToken = (token: string) =>
    token === TOKEN ? { permissions: readOnly, who: 'anna', clientId: 'shop' } : undefined;
  const use = async (url: string) => {
    await get(url, '/plants/1', CLOSE);
    await post(url, PLANT);
    await post(url, PLANT, { Authorization: 'Bearer wrong' });
  };
  const { lines } = await logged(use, { verifyToken });
  expect(lines.map(({ status, who, clientId }) => [status, who, clientId])).toEqual([
    [404, 'anna', 'shop'],
    [403, 'anna', 'shop'],
    [401, undefined, undefined],
  ]);
});

test('never logs a token or a body, whatever the answer', async () => {
  const name = 'the name of the plant';
  const failing = { add: () => Promise.reject(new Error('no details')) };
  const use = async (url: string) => {
    await post(url, PLANT);
    await post(url, PLANT.replace('its tag', 'another'));
    await post(url, `${PLANT}}`);
    await post(url, PLANT.padEnd(70_000));
    await post(url, JSON.stringify({ id: 2, name: `${name}\0` }));
    await post(url, PLANT, { 'Content-Type': 'text/plain' });
    await post(url, PLANT, { Authorization: `Bearer ${TOKEN}x` });
    await rawRequest(url, `POST /plants HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\n${name}\r\n\r\n`);
  };
  for (const options of [{}, { plants: failing }]) {
    const { text, lines } = await logged(use, options);
    expect(lines).toHaveLength(8);
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(name);
  }
});
