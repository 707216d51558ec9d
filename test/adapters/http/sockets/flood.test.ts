import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { startApiServer } from '../../../support/api-server.ts';

/** More than libuv looks at in one poll. */
const CLIENTS = 1_500;
const DURATION = 2_000;

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

test('lets timers run, and so the database be reached, while more clients than one poll sees are refused', async () => {
  const server = await startApiServer();
  const workerData = { port: Number(new URL(server.url).port), clients: CLIENTS };
  const flood = new Worker(FLOOD, { eval: true, workerData });
  try {
    await once(flood, 'message');
    let longest = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 1);
    flood.postMessage('go');
    await new Promise((resolve) => setTimeout(resolve, DURATION));
    clearInterval(timer);
    expect(longest).toBeLessThan(DURATION / 2);
  } finally {
    await flood.terminate();
    await server.close(0);
  }
});
