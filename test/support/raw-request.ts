import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { TOKEN } from './api-server.ts';
import { connectTo } from './http-bytes.ts';
import { atEnd } from './lifetimes.ts';

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

/**
 * A request as it is sent, with TOKEN.
 *
 * @param target the method and the path
 * @param body of JSON
 * @param lines more of the head, each with its end
 */
export function requestText(target: string, body = '', lines = ''): string {
  const type = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n${type}${lines}\r\n${body}`;
}

/** The statuses of all responses in a text. */
export const statusesIn = (responses: string): number[] =>
  [...responses.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** Begins a request to create a plant, whose body the service waits for. */
export async function beginUpload(url: string, body = '{"id":77,"name":"Monstera"}') {
  const socket = connectTo(url).setEncoding('utf8');
  socket.write(requestText('POST /plants', body, 'Expect: 100-continue\r\n').slice(0, -body.length));
  const [response] = await once(socket, 'data');
  if (response !== 'HTTP/1.1 100 Continue\r\n\r\n') throw new Error(response);
  return {
    socket,
    /** Sends the body. @returns all that comes back until the service closes the connection */
    finish() {
      socket.write(body);
      return text(socket);
    },
  };
}

/** Resolves when a service of this process has read the headers of the next request. */
export function requestStart(): Promise<unknown> {
  return new Promise((resolve) => {
    subscribe('http.server.request.start', resolve);
    atEnd(() => unsubscribe('http.server.request.start', resolve));
  });
}
