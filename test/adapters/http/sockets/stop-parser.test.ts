import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { stopParser } from '../../../../src/adapters/http/sockets/stop-parser.ts';

test.each([
  ['without it, a destroyed connection has all requests of a read parsed', () => {}, 1_000],
  ['with it, none after the one that stops the parser', stopParser, 5],
] as const)('%s', async (_name, stop, expected) => {
  let parsed = 0;
  const server = createServer(({ socket }) => {
    if (++parsed !== 5) return;
    stop(socket);
    socket.destroy();
  }).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
    client.on('error', () => {});
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_000));
    await once(client, 'close');
    expect(parsed).toBe(expected);
  } finally {
    server.close();
  }
});
