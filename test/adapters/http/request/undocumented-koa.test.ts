import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { openExchange } from '../../../../src/adapters/http/exchange.ts';
import { contextOf } from '../../../../src/adapters/http/request/undocumented-koa.ts';

/* What this project needs of a method that Koa marks as private: an upgrade that changes it fails here. */

function begin() {
  const socket = new Socket();
  const request = Object.assign(new IncomingMessage(socket), {
    method: 'GET',
    url: '/plants/1?tag=a',
    headers: { 'accept-encoding': 'gzip', origin: 'https://a.example' },
  });
  const connection = { socket, isAuthenticated: false, waiting: [], isReadingPaused: false };
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  return openExchange(connection, request, response, pino({ enabled: false }), () => {});
}

test("gives what Koa's middleware and this service use of a context", () => {
  const exchange = begin();
  const ctx = contextOf(exchange);
  expect(ctx.state.exchange).toBe(exchange);
  expect([ctx.req, ctx.res]).toEqual([exchange.request, exchange.response]);
  expect([ctx.method, ctx.path, ctx.querystring]).toEqual(['GET', '/plants/1', 'tag=a']);
  expect([ctx.get('Origin'), ctx.acceptsEncodings('gzip', 'identity')]).toEqual(['https://a.example', 'gzip']);
  ctx.set('X-One', '1');
  ctx.vary('Origin');
  ctx.status = 204;
  const { response } = exchange;
  expect([response.getHeader('X-One'), response.getHeader('Vary'), response.statusCode]).toEqual(['1', 'Origin', 204]);
});

test('adds no listener, whose cost is why it is used', () => {
  const { request, response } = begin();
  const emitters = [request, response, request.socket];
  const listeners = () => emitters.map((one) => one.eventNames().map((event) => [event, one.listenerCount(event)]));
  const before = listeners();
  contextOf({ ...begin(), request, response });
  expect(listeners()).toEqual(before);
});
