import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { requireFreePorts } from '../../src/composition/free-ports.ts';
import { freePort } from '../../tooling/free-port.ts';

/* Tries of the ports before a start. What they report is in service.test.ts. */

const clients = new Set<Socket>();
let isOver = false;
afterEach(() => {
  isOver = true;
  for (const client of clients) client.destroy();
});

/** A client that connects again and again, and sends something at once. */
function insist(port: number): void {
  if (isOver) return;
  const client = connect(port, '127.0.0.1', () => client.write('GET'));
  clients.add(client);
  client.on('error', () => {});
  client.on('close', () => {
    clients.delete(client);
    setImmediate(insist, port);
  });
}

test('end, whoever connects meanwhile', async () => {
  const port = await freePort();
  const managementPort = await freePort();
  for (let n = 0; n < 8; n++) insist(port);
  const ports = {
    api: { host: '127.0.0.1', port, reusePort: false },
    management: { host: 'localhost', port: managementPort },
  };
  let tries = 0;
  for (; tries < 300; tries++) await requireFreePorts(ports as Parameters<typeof requireFreePorts>[0]);
  expect(tries).toBe(300);
});
