import { connect, type Socket } from 'node:net';

/* HTTP as bytes, for programs as well as for tests. */

/** Opens a connection. Errors on it, such as a reset, only end it, unless somebody listens for them. */
export function connectTo(url: string, allowHalfOpen = false): Socket {
  const { hostname, port } = new URL(url);
  return connect({ port: Number(port), host: hostname, allowHalfOpen }).on('error', () => {});
}

/** A head as it is sent, with these lines behind the Host. */
export function requestHead(target: string, lines: readonly string[] = []): string {
  return [`${target} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n');
}

export interface RawResponse {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The responses in all that has come back, each with a Content-Length or without a body; 100 Continue is none yet. */
export function responsesIn(received: Buffer): RawResponse[] {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return [];
  const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.split(':', 1).join().toLowerCase(), line.replace(/^[^:]*: */, '')]),
  );
  // The response to HEAD has no body, whatever its length.
  const isHead = received.toString('latin1', end + 4).startsWith('HTTP/1.1 ');
  const bodyEnd = end + 4 + (isHead ? 0 : Number(headers.get('content-length') ?? 0));
  const status = Number(first.split(' ')[1]);
  const rest = responsesIn(received.subarray(bodyEnd));
  return status < 200 ? rest : [{ status, headers, body: received.toString('utf8', end + 4, bodyEnd) }, ...rest];
}

/**
 * Sends bytes, closes this side, and resolves to all responses until the service closes the other one, which may be by a
 * reset while bytes are still coming that it does not want.
 */
export async function responsesTo(url: string, bytes: Buffer): Promise<RawResponse[]> {
  const socket = connectTo(url, true);
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  socket.on('end', () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.end(bytes);
  await closed;
  return responsesIn(Buffer.concat(received));
}
