import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Milliseconds that a connection may wait for its turn in a bench; Node's default closes it after five seconds. */
export const KEEP_ALIVE = 75_000;

/**
 * What reading and answering JSON over node:http costs when nothing else is done: no routes, token, checks or log.
 *
 * @returns its URL
 */
export async function bareHttp(): Promise<string> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { name, tag } = JSON.parse(Buffer.concat(chunks).toString());
      const body = JSON.stringify({ name, tag });
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) });
      response.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

if (import.meta.main) process.stderr.write(`listens at ${await bareHttp()}\n`);
