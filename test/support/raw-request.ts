import { connect, type Socket } from 'node:net';

/** Opens a connection. Errors on it, such as a reset, only end it, unless somebody listens for them. */
export function connectTo(url: string, allowHalfOpen = false): Socket {
  const { hostname, port } = new URL(url);
  return connect({ port: Number(port), host: hostname, allowHalfOpen }).on('error', () => {});
}

/**
 * Sends bytes that fetch would not and resolves to all that comes back until the server closes the connection, which a
 * well-formed request has to ask for with `Connection: close`.
 */
export function rawRequest(url: string, bytes: string | Uint8Array): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connectTo(url).setEncoding('utf8');
  let answer = '';
  socket.on('data', (text: string) => {
    answer += text;
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(answer));
  socket.write(bytes);
  return promise;
}
