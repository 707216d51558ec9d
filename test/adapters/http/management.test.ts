import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { management, type ReadinessCheck } from '../../../src/adapters/http/management.ts';
import type { HttpServer } from '../../../src/adapters/http/sockets/server.ts';
import { startServer } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';

const logged: string[] = [];
const logAt = (level: string) => pino({ level }, { write: (line: string) => logged.push(line) });
const silence = logAt('silent');
const noMetrics = async () => '# nothing\n';

let server: HttpServer;

async function get(path: string, checks: Record<string, ReadinessCheck> = {}, log = silence): Promise<Response> {
  server = await startServer(management(checks, noMetrics, log), log);
  return fetch(server.url + path);
}

const ok = async () => undefined;
const failing = () => Promise.reject(new Error('migrations are pending: run npm run migrate'));
const silent = () => new Promise<never>(() => {});

test('/live says that the process runs, whatever the checks say', async () => {
  const answer = await get('/live', { database: failing, queue: silent });
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'live' }]);
  expect(answer.headers.get('Content-Type')).toBe('application/json');
});

test.each<[string, ReadinessCheck]>([
  ['ok', ok],
  ['ok, but there is no feed', async () => 'there is no feed'],
])('/ready answers 200 while every check passes, and says what does not work even so: %s', async (text, check) => {
  const answer = await get('/ready', { service: ok, database: check });
  const body = { status: 'ready', checks: { service: 'ok', database: text } };
  expect([answer.status, await answer.json()]).toEqual([200, body]);
});

test('/ready answers 503 and says which check fails and why', async () => {
  const answer = await get('/ready', { service: ok, database: failing });
  expect([answer.status, await answer.json()]).toEqual([
    503,
    {
      error: 50300,
      message: 'not ready: database',
      status: 'not ready',
      checks: { service: 'ok', database: 'migrations are pending: run npm run migrate' },
    },
  ]);
  expect(answer.headers.get('Retry-After')).toBe('1');
  expect(answer.headers.get('Content-Type')).toBe('application/json');
});

test('/ready gives up on a check that does not answer within a second', async () => {
  const answer = await get('/ready', { service: ok, database: silent });
  expect([answer.status, await answer.json()]).toMatchObject([
    503,
    { error: 50300, checks: { service: 'ok', database: 'no response within 1000 ms' } },
  ]);
});

test('/ready waits for a check that still runs instead of starting it once more', async () => {
  const runs: (() => void)[] = [];
  const { status } = await get('/ready', {
    database: () => new Promise<undefined>((resolve) => runs.push(() => resolve(undefined))),
  });
  const ready = `${server.url}/ready`;
  expect([status, (await fetch(ready)).status, runs.length]).toEqual([503, 503, 1]);
  runs[0]?.();
  const later = fetch(ready);
  await eventually(() => runs.length === 2);
  runs[1]?.();
  expect((await later).status).toBe(200);
});

test('/metrics answers the text as what it is', async () => {
  const answer = await get('/metrics');
  expect([answer.status, await answer.text()]).toEqual([200, '# nothing\n']);
  expect(answer.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8');
});

test('answers an unknown path with an Error body', async () => {
  const answer = await get('/plants');
  expect([answer.status, await answer.json()]).toEqual([404, { error: 40400, message: 'no such path' }]);
});

test.each([
  ['info', 1],
  ['warn', 1],
  ['fatal', 0],
  ['silent', 0],
])('logs a failure, and no more than that, as far as the level %s allows', async (level, lines) => {
  logged.length = 0;
  await get('/ready', { database: failing }, logAt(level));
  await server.close(0);
  await get('/live', {}, logAt(level));
  await server.close(0);
  expect(logged).toHaveLength(lines);
});
