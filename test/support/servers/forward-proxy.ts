import { createServer } from 'node:http';
import { connect } from 'node:net';
import { listening } from './local-server.ts';

/** Starts a proxy that opens tunnels (CONNECT), until the end of the test. */
export async function startForwardProxy() {
  const asked: (string | undefined)[] = [];
  const credentials = new Set<string | undefined>();
  let seen = '';
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(400).end();
  });
  server.on('connect', ({ url, headers }, client) => {
    asked.push(url);
    credentials.add(headers['proxy-authorization']);
    client.on('error', () => {});
    client.on('close', () => target.destroy());
    const { hostname, port } = new URL(`http://${url}`);
    const target = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.on('data', (bytes) => {
        seen += bytes.toString('latin1');
      });
      client.pipe(target).pipe(client);
    });
    target.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  });
  return {
    url: `http://user:p%40ss@127.0.0.1:${await listening(server)}`,
    /** Where clients wanted to go. */
    asked,
    /** As in their headers. */
    credentials,
    /** What went through its tunnels to the other side. */
    seen: () => seen,
  };
}
