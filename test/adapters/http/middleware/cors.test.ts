import { beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { management } from '../../../../src/adapters/http/management.ts';
import { readiness } from '../../../../src/adapters/http/readiness.ts';
import type { HttpServer } from '../../../../src/adapters/http/server.ts';
import { post, startApiServer, startServer, TOKEN } from '../../../support/api-server.ts';

/* Cross-origin requests, as the Fetch standard has browsers send them: https://fetch.spec.whatwg.org/#http-cors-protocol */

const APP = 'https://app.example';
const PLANT = '{"id":1,"name":"Monstera"}';

let server: HttpServer;

/** What a browser asks before it lets a page send a plant. */
function preflight(origin: string, path = '/plants'): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type',
    },
  });
}

function corsHeaders({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));
}

const readable = {
  'access-control-allow-origin': APP,
  'access-control-expose-headers': 'Allow, ETag, Link, X-Request-Id, Retry-After, WWW-Authenticate',
  vary: 'Origin',
};

describe('pages of an allowed origin', () => {
  beforeEach(async () => {
    server = await startApiServer({ corsOrigins: ['https://other.example', APP] });
  });

  test('are let through by the preflight, without a token', async () => {
    const answer = await preflight(APP);
    expect([answer.status, await answer.text(), answer.headers.get('Content-Type')]).toEqual([204, '', null]);
    expect(corsHeaders(answer)).toEqual({
      'access-control-allow-origin': APP,
      'access-control-allow-methods': 'GET,HEAD,PUT,POST,DELETE,PATCH',
      'access-control-allow-headers':
        'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id, traceparent, tracestate, baggage',
      'access-control-max-age': '7200',
      vary: 'Origin',
    });
    expect((await preflight(APP, '/nothing')).status).toBe(204);
  });

  test('can read a plant, and that the token is refused', async () => {
    for (const [token, status] of Object.entries({ [TOKEN]: 200, 'another-token-than-that': 401 })) {
      const answer = await post(server.url, PLANT, { Origin: APP, Authorization: `Bearer ${token}` });
      expect([answer.status, corsHeaders(answer)]).toEqual([status, readable]);
    }
  });
});

test('pages of another origin are not let through, and caches are told why', async () => {
  server = await startApiServer({ corsOrigins: [APP] });
  for (const origin of ['https://app.example.evil', 'http://app.example', 'null']) {
    const answer = await preflight(origin);
    expect([answer.status, corsHeaders(answer)]).toEqual([405, { vary: 'Origin' }]);
  }
  const answer = await post(server.url, PLANT, { Origin: 'https://other.example' });
  expect([answer.status, corsHeaders(answer)]).toEqual([200, { vary: 'Origin' }]);
});

test('* lets everybody through, but OPTIONS without a preflight is another method', async () => {
  server = await startApiServer({ corsOrigins: ['*'] });
  const [asked, sent] = [await preflight(APP), await post(server.url, PLANT, { Origin: APP })];
  expect([asked, sent].map(({ headers }) => headers.get('Access-Control-Allow-Origin'))).toEqual(['*', '*']);
  const answer = await fetch(`${server.url}/plants`, { method: 'OPTIONS', headers: { Origin: APP } });
  expect([answer.status, answer.headers.get('Allow')]).toEqual([405, 'HEAD, GET, POST']);
});

test('nobody is let through by default, and no page to the port for operators', async () => {
  server = await startApiServer();
  const sent = await post(server.url, PLANT, { Origin: APP });
  expect([(await preflight(APP)).status, sent.status, corsHeaders(sent)]).toEqual([405, 200, {}]);
  server = await startServer(management(readiness({}), async () => '', '127.0.0.1', pino({ enabled: false })));
  expect(corsHeaders(await preflight(APP, '/live'))).toEqual({});
});
