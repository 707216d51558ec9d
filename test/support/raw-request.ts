import { connect } from 'node:net';

/**
 * Sends bytes that fetch would not and resolves to all that comes back until the server closes the connection, which a
 * well-formed request has to ask for with `Connection: close`.
 */
export function rawRequest(url: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  let answer = '';
  socket.on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(answer));
  socket.write(bytes);
  return promise;
}
