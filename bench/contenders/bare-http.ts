import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/* What reading and answering JSON over node:http costs when nothing else is done: no routes, token, checks or log. */

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { name, tag } = JSON.parse(Buffer.concat(chunks).toString());
    const body = JSON.stringify({ name, tag });
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`listens at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
