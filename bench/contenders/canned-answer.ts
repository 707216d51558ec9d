import { type AddressInfo, createServer } from 'node:net';

/*
 * Answers every packet with the same bytes and looks at none. The generator's requests fit into one packet each and
 * wait for their answer, so what it reaches here is the least that the generator can do.
 */

const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"x"}',
);

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.write(answer));
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`listens at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
