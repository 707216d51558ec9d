import { createServer, request } from 'node:http';
import { listening } from '../servers/local-server.ts';

/** Starts a proxy that serves a server under the path /garden, until the end of the test. @returns its URL */
export async function startPrefixProxy(target: string): Promise<string> {
  const proxy = createServer((from, to) => {
    const path = (from.url ?? '').replace(/^\/garden/, '');
    const { method, headers } = from;
    from.pipe(
      request(`${target}${path}`, { method, headers }, (answer) => {
        to.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(to);
      }).on('error', () => to.destroy()),
    );
  });
  return `http://127.0.0.1:${await listening(proxy)}/garden`;
}
