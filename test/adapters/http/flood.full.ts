import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { startApiServer } from '../../support/api-server.ts';
import { eventually } from '../../support/eventually.ts';
import { atEnd } from '../../support/lifetimes.ts';

/** More than libuv looks at in one poll. */
const CLIENTS = 1_500;

/** Clients without a good token, each asking again as soon as it is refused, in a thread of their own. */
const FLOOD = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, clients } } = require('node:worker_threads');
  const request = 'POST /plants HTTP/1.1\\r\\nHost: a\\r\\nContent-Length: 2\\r\\n\\r\\n{}';
  let open = 0;
  for (let index = 0; index < clients; index++) {
    const socket = connect(port, '127.0.0.1', () => {
      if (++open === clients) parentPort.postMessage('open');
    });
    socket.on('data', () => socket.write(request));
    socket.on('error', () => {});
    parentPort.on('message', () => socket.write(request));
  }
`;

/** Requests, counted rather than timed: how long they take depends on the machine. */
const TURN_REQUESTS_MAX = 4 * CLIENTS;

test('lets timers run while more clients than one poll sees are refused', async () => {
  const { url, lines: refused } = await startApiServer();
  const workerData = { port: Number(new URL(url).port), clients: CLIENTS };
  const flood = new Worker(FLOOD, { eval: true, workerData });
  atEnd(() => flood.terminate());
  await once(flood, 'message');
  let last = 0;
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, refused.length - last);
    last = refused.length;
  }, 1);
  flood.postMessage('go');
  await eventually(() => refused.length > 10 * CLIENTS);
  clearInterval(timer);
  expect(most).toBeLessThan(TURN_REQUESTS_MAX);
});
