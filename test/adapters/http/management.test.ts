import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { management } from '../../../src/adapters/http/management.ts';
import { type ReadinessCheck, readiness } from '../../../src/adapters/http/readiness.ts';
import { refusalOf, startApiServer, startServer } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { rawRequest, statusesIn } from '../../support/raw-request.ts';

const silence = pino({ enabled: false });
const noMetrics = async () => '# nothing\n';

async function get(path: string, checks: Record<string, ReadinessCheck>): Promise<Response> {
  const { url } = await startServer(management(readiness(checks), noMetrics, '127.0.0.1', silence), silence);
  return fetch(url + path);
}

const ok = async () => undefined;
const failing = () => Promise.reject(new Error('migrations are pending: run npm run migrate'));
const silent = () => new Promise<never>(() => {});

const NO_PATH =
  '{"error":40400,"message":"no such path: paths are in lower case, without a slash at the end; this port has /live, /ready and /metrics"}';
test.each([
  ['/live', 200, 'application/json', '{"status":"live"}'],
  ['/metrics', 200, 'text/plain; version=0.0.4; charset=utf-8', '# nothing\n'],
  ['/plants', 404, 'application/json', NO_PATH],
])('%s answers %i, whatever the checks say', async (path, status, type, body) => {
  const answer = await get(path, { database: failing, queue: silent });
  expect([answer.status, answer.headers.get('Content-Type'), await answer.text()]).toEqual([status, type, body]);
});

test.each<[string, ReadinessCheck]>([
  ['ok', ok],
  ['ok, but there is no feed', async () => 'there is no feed'],
])('/ready answers 200 while its checks pass, and says what else is wrong: %s', async (text, check) => {
  const answer = await get('/ready', { service: ok, database: check });
  const body = { status: 'ready', checks: { service: 'ok', database: text } };
  expect([answer.status, await answer.json()]).toEqual([200, body]);
});

test.each<[string, ReadinessCheck]>([
  ['migrations are pending: run npm run migrate', failing],
  ['no response within 800 ms', silent],
])('/ready answers 503 and says which check fails and why: %s', async (why, check) => {
  const answer = await get('/ready', { service: ok, database: check });
  const checks = { service: 'ok', database: why };
  const body = { error: 50300, message: 'not ready: database', status: 'not ready', checks };
  expect([answer.status, await answer.json()]).toEqual([503, body]);
  expect([answer.headers.get('Retry-After'), answer.headers.get('Content-Type')]).toEqual(['1', 'application/json']);
});

test('the port of the API has the status alone, and asks the database once a second', async () => {
  let check: ReadinessCheck = failing;
  let checks = 0;
  const database = () => {
    checks++;
    return check();
  };
  const start = performance.now();
  const { url } = await startApiServer({ isReady: readiness({ database }).isReady });
  const unready = [503, 50300, 'the service is not ready; sending the same request again is safe'];
  for (let n = 0; n < 20; n++) expect(await refusalOf(await fetch(`${url}/ready`))).toEqual(unready);
  expect((await fetch(`${url}/live`)).status).toBe(200);
  check = ok;
  await eventually(async () => (await fetch(`${url}/ready`)).status === 200);
  expect(checks).toBeLessThanOrEqual(1 + (performance.now() - start) / 1_000);
});

/** The statuses of requests for /metrics that name these hosts. */
async function statusesFor(listensAt: string, hosts: readonly string[]): Promise<number[]> {
  const { url } = await startServer(management(readiness({}), noMetrics, listensAt, silence));
  const request = (host: string) => `GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const responses = await Promise.all(hosts.map((host) => rawRequest(url, request(host))));
  return responses.flatMap(statusesIn);
}

describe('a name that leads to this machine, as DNS rebinding makes one,', () => {
  const rebound = ['plants.example:3001', '127.0.0.1.plants.example', 'localhost.example', '10.0.0.1'];

  test.each(['127.0.0.1', '::1', 'localhost'])('gets 400 where the port is on %s', async (listensAt) => {
    expect(await statusesFor(listensAt, rebound)).toEqual(rebound.map(() => 400));
    const own = ['LOCALHOST:3001', '127.8.8.8', '[::1]:3001'];
    expect(await statusesFor(listensAt, own)).toEqual(own.map(() => 200));
  });

  test.each(['0.0.0.0', '::'])('is no reason to refuse where the port is on %s', async (listensAt) => {
    expect(await statusesFor(listensAt, rebound)).toEqual(rebound.map(() => 200));
  });
});
